package detour

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/rondo-db/rondo/engine/core"
)

// Options configure a Detour. The zero value of each field but Dir and Bytes is what production
// runs.
type Options struct {
	// Dir is the folder of the spool, which New makes if it is missing.
	Dir string
	// Bytes bounds the samples in the spool, as they are before compression. The folder takes less,
	// as a rule, and at most a segment of 4 MiB for each partition more. 0: there is no spool. What
	// cannot be delivered is dropped and counted.
	Bytes int64
	// Patience is how long a leader may take for a part of a batch, and a partition for a question;
	// 0: 1 s.
	Patience time.Duration
	// PromiseBytes bounds the memory of promises; 0: 64 MiB.
	PromiseBytes int64
	// Names is of how many series the paths are remembered; 0: 4 Mi.
	Names int64
	// Logger gets when a partition's samples begin to be kept, when all are delivered, when samples
	// are dropped, and damage; nil: silent.
	Logger *slog.Logger

	// step gets what has just been done; for tests of crashes.
	step func(what string)
	// to takes what is delivered, in place of the router; for tests.
	to core.Engine
}

func (o Options) withDefaults(to core.Engine) Options {
	o.Patience = cmp.Or(o.Patience, time.Second)
	o.PromiseBytes = cmp.Or(o.PromiseBytes, 64<<20)
	o.Names = cmp.Or(o.Names, 4<<20)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.to = cmp.Or(o.to, to)
	if o.step == nil {
		o.step = func(string) {}
	}
	return o
}
