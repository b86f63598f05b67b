package rrdtool

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A Store is the store that the verbs work on, such as a [core.Store].
type Store interface {
	Create(ctx context.Context, spec core.Spec) (core.Ref, error)
	Lookup(path string) (core.Ref, error)
	Series(ref core.Ref) (core.Series, error)
	Update(ctx context.Context, ref core.Ref, b *core.Batch) (n int, err error)
	// Alter replaces a series by the result of change. It calls change again if the series has
	// changed meanwhile.
	Alter(ctx context.Context, path string, change func(core.Copy) (core.Copy, error)) (core.Ref, error)
	Info(ref core.Ref) (core.Info, error)
	Last(ref core.Ref) (rra.Time, error)
	Fetch(ctx context.Context, ref core.Ref, archive int, start, end int64) (core.Rows, error)
	Select(ctx context.Context, q core.Query) iter.Seq2[core.Series, error]
	Export(ctx context.Context, ref core.Ref) (core.Copy, error)
}

// An Extra knows facts about paths that rrdtool's files do not have.
type Extra interface {
	Metadata(path string) (core.Metadata, error)
	Notes(ctx context.Context, key string) (map[string][]core.Note, error)
}

// An Env is the environment of a command: the store, and the surroundings of the caller.
type Env struct {
	// Store holds the series. A command that fails before it needs a series, because of an unknown
	// verb or a wrong option, does not use the store.
	Store Store

	// Extra, if not nil, makes info print labels, metadata and notes after rrdtool's lines.
	Extra Extra

	// Files are the files of the caller; nil means that the command cannot reach them.
	Files Files

	// Rondo adds rondo's own verbs to rrdtool's.
	Rondo bool

	Stdin          io.Reader // nil means an empty input
	Stdout, Stderr io.Writer

	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Location is the time zone in which times are read and printed; nil means the zone that the
	// variable TZ names, or time.Local if TZ is empty.
	Location *time.Location
	// Dir is the working folder inside the store, where relative names start. Empty means the top.
	// With a leading slash it is a folder of the machine outside Base: a relative name that leads
	// from there into Base means the series there, and any other starts at the top.
	Dir string
	// Base is the folder that is cut off the front of absolute names; an absolute name outside it
	// is refused. Without a Base, absolute names lose their leading slash.
	Base string
	// KeepSame makes create succeed, without changing anything, if the series exists and has the
	// same definition.
	KeepSame bool
	// Seen, if not nil, reports whether the caller sees a file of the name of a series. If the
	// caller does not, create behaves as with KeepSame. Made, if not nil, is called for each series
	// that create and restore make.
	Seen func(path string) bool
	Made func(path string)
	// RealBase is the name of Base without symbolic links, which absolute names may also begin
	// with. Empty means that Base has no other name.
	RealBase string
	// Getenv returns the caller's environment variables; nil means an empty environment.
	Getenv func(string) string
	// Connect returns the store of the server at addr, for the option --daemon. If it is nil, the
	// option is an error.
	Connect func(ctx context.Context, addr string) (Store, error)

	locale locale // named by the variables of Getenv
}

func (e *Env) withDefaults() *Env {
	d := *e
	if d.Stdin == nil {
		d.Stdin = strings.NewReader("")
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	d.Now = increasing(d.Now)
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

// increasing returns a clock that returns a later time in each call, if only by a microsecond, so
// that N twice, in one command or in two, is two samples. If the system's clock is set back, it
// follows.
func increasing(now func() time.Time) func() time.Time {
	var told time.Time
	return func() time.Time {
		t := now().Truncate(time.Microsecond)
		if ahead := told.Sub(t); ahead >= 0 && ahead < time.Second {
			t = told.Add(time.Microsecond)
		}
		told = t
		return t
	}
}

// A placed is a Store whose relative names start in a folder of its own: the client of a daemon on
// this machine.
type placed interface{ Dir() string }

// A tuner is a Store that runs tune itself, and create from other series, because it has neither
// Alter nor copies: the client of a daemon.
type tuner interface {
	Tune(ctx context.Context, path string, args []string) error
	CreateFrom(ctx context.Context, spec core.Spec, template string, sources, args []string) error
}

// Files are the files of the caller: those that restore reads and dump writes, and native files
// that verbs read in place of a series.
type Files interface {
	Readable
	Create(name string) (io.WriteCloser, error)
}

// Readable are files that can be opened for reading.
type Readable interface {
	Stat(name string) (fs.FileInfo, error)
	Open(name string) (io.ReadCloser, error)
}

// OSFiles are the files of this process.
type OSFiles struct{}

// Stat is os.Stat.
func (OSFiles) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// Open is os.Open.
func (OSFiles) Open(name string) (io.ReadCloser, error) { return os.Open(name) }

// Create is os.Create.
func (OSFiles) Create(name string) (io.WriteCloser, error) { return os.Create(name) }
