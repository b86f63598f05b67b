package rrdcached

import "sync/atomic"

// counters are what Stats adds up.
type counters struct {
	accepted, refused, stalled, foreign, unknown, samples, bytes atomic.Uint64
	requests, errors                                             [numCommands]atomic.Uint64
}

// Stats is a snapshot of a server's counters.
type Stats struct {
	Connections int    // that are open
	Accepted    uint64 // ever
	Refused     uint64 // because there were too many
	Stalled     uint64 // closed because they did not read their answers
	Foreign     uint64 // closed because they spoke HTTP or TLS
	Bytes       uint64 // of requests
	Answers     int64  // bytes of rows in memory for answers that wait to be read
	Samples     uint64 // given to the store
	Unknown     uint64 // requests that are no command
	Names       int    // remembered
	// Requests and Errors are counted by command, in the order of CommandNames.
	Requests, Errors []uint64
}

// CommandNames returns the names of all commands, as Stats counts them.
func CommandNames() []string {
	names := make([]string, 0, numCommands)
	for i := range commands {
		names = append(names, commands[i].name)
	}
	return names
}

// Stats returns the server's counters.
func (s *Server) Stats() Stats {
	st := Stats{
		Accepted: s.stats.accepted.Load(), Refused: s.stats.refused.Load(), Stalled: s.stats.stalled.Load(), Foreign: s.stats.foreign.Load(),
		Bytes: s.stats.bytes.Load(), Samples: s.stats.samples.Load(), Unknown: s.stats.unknown.Load(), Names: s.cache.len(),
	}
	for i := range commands {
		st.Requests = append(st.Requests, s.stats.requests[i].Load())
		st.Errors = append(st.Errors, s.stats.errors[i].Load())
	}
	st.Connections = s.places.Len()
	st.Answers = s.room.used()
	return st
}

// count adds what the connection counted to the server's counters.
func (c *conn) count() {
	for i := range c.counts {
		if n := &c.counts[i]; n.requests+n.errors > 0 {
			c.s.stats.requests[i].Add(n.requests)
			c.s.stats.errors[i].Add(n.errors)
			*n = count{}
		}
	}
}
