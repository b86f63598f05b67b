package rrdcached

import "sync/atomic"

// counters are the counters behind Stats.
type counters struct {
	accepted, refused, stalled, foreign, unknown, samples, bytes atomic.Uint64
	requests, errors                                             [numCommands]atomic.Uint64
}

// Stats is a snapshot of a server's counters.
type Stats struct {
	Connections int    // open connections
	Accepted    uint64 // connections that were accepted
	Refused     uint64 // connections that were refused because there were too many
	Stalled     uint64 // connections that were closed because the peer did not read its answers
	Foreign     uint64 // connections that were closed because they spoke HTTP or TLS
	Bytes       uint64 // bytes of requests
	Answers     int64  // bytes of rows in memory for answers that wait to be read
	Samples     uint64 // samples that were given to the store
	Unknown     uint64 // requests with an unknown command
	Names       int    // remembered names of series
	// Requests and Errors count by command, in the order of CommandNames.
	Requests, Errors []uint64
}

// CommandNames returns the names of all commands, in the order of Stats.Requests.
func CommandNames() []string {
	names := make([]string, 0, numCommands)
	for i := range commands {
		names = append(names, commands[i].name)
	}
	return names
}
