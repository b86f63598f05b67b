package smon

import (
	"hash/maphash"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
)

// A server is the receiver.
type server struct {
	receivers.Counters
	cfg   receivers.Config
	set   settings
	sink  receivers.Sink
	asks  *receivers.Resolver
	tcp   *sockets.TCP // nil: only files are read
	files []*file
	queue *receivers.SharedQueue // of all connections
	held  *limit.Limit           // bytes of memory that streams take, by address
	seed  maphash.Seed           // of the hashes of texts
	lines loglimit.Limit[string]
}
