package rrdcached

import (
	"sync/atomic"
)

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
