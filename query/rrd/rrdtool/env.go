package rrdtool

import (
	"context"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A Store is what the verbs ask of a store. An *core.Store is one.
type Store interface {
	Create(ctx context.Context, spec core.Spec) (core.Ref, error)
	Lookup(path string) (core.Ref, error)
	Series(ref core.Ref) (core.Series, error)
	Update(ctx context.Context, ref core.Ref, b *core.Batch, trace bool) (n int, rows [][]rra.Run, err error)
	// Alter puts what change makes of a series in its place. It may be called again for one that
	// has changed meanwhile.
	Alter(ctx context.Context, path string, change func(core.Copy) (core.Copy, error)) (core.Ref, error)
	Info(ref core.Ref) (core.Info, error)
	Last(ref core.Ref) (rra.Time, error)
	Fetch(ctx context.Context, ref core.Ref, archive int, start, end int64) (core.Rows, error)
	List(ctx context.Context, prefix, after string) iter.Seq2[core.Series, error]
	Export(ctx context.Context, ref core.Ref) (core.Copy, error)
	Import(ctx context.Context, copies []core.Copy, overwrite bool) ([]core.Created, error)
}

// An Extra is what rondo knows beyond rrdtool.
type Extra interface {
	Metadata(path string) (core.Metadata, error)
	Notes(ctx context.Context, key string) (map[string][]core.Note, error)
}

// An Env is the surroundings of a command.
type Env struct {
	// Store is where the series are. A command that fails before it needs a
	// series (an unknown verb, a bad option) does not touch it.
	Store Store

	// Extra, if not nil, has info print labels, metadata and notes after what rrdtool prints.
	Extra Extra

	// Files are those of whoever asks; nil: out of reach.
	Files Files

	// Rondo says that rondo's own verbs are known beside rrdtool's.
	Rondo bool

	Stdin          io.Reader // nil: empty
	Stdout, Stderr io.Writer

	// Now is the present; nil: time.Now.
	Now func() time.Time
	// Location is the time zone of times given and shown; nil: that of the variable TZ, or
	// time.Local where it is empty.
	Location *time.Location
	// Dir is the working folder inside the store: relative names start here.
	// The empty string is the top.
	Dir string
	// Base is cut off the front of absolute names; an absolute name outside it
	// is refused. Without a Base, absolute names lose their leading slash.
	Base string
	// KeepSame has create leave a series alone that has the same definition already, as if it had
	// been made.
	KeepSame bool
	// Seen, if not nil, says whether whoever asks sees a file of the name of a series: where not,
	// KeepSame holds. Made is told of the series that create and restore have made.
	Seen func(path string) bool
	Made func(path string)
	// RealBase is another name of the same folder, the one without symbolic links; empty: there is
	// none.
	RealBase string
	// Getenv gives the environment of whoever asks; nil: an empty one.
	Getenv func(string) string
	// Connect answers the option --daemon: it returns the store of the server
	// at addr. nil: the option is an error.
	Connect func(ctx context.Context, addr string) (Store, error)

	locale locale // of Getenv
}

func (e *Env) withDefaults() *Env {
	d := *e
	if d.Stdin == nil {
		d.Stdin = strings.NewReader("")
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Getenv == nil {
		d.Getenv = func(string) string { return "" }
	}
	if d.Location == nil {
		d.Location = time.Local
		if tz := d.Getenv("TZ"); tz != "" {
			d.Location = Location(tz)
		}
	}
	d.locale = localeOf(d.Getenv)
	return &d
}

// A placed is a Store whose relative names are below a folder: a client of a daemon on this
// machine.
type placed interface{ Dir() string }

// A tuner is a Store that has tune done where it cannot be altered: a client of a daemon.
type tuner interface {
	Tune(ctx context.Context, path string, args []string) error
}
