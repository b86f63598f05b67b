package copying

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/sleep"
)

// The defaults of Options, and how much is copied at a time.
const (
	defaultJobs     = 8
	defaultPatience = 2 * time.Minute
	chunkSeries     = 256
	chunkBytes      = 4 << 20 // of copies in their binary form
	maxProblems     = 10
)

// Options say what is copied, and how.
type Options struct {
	From, To core.Engine
	// Own is a folder of series that servers write about themselves. Those that To has already
	// stay as they are, and none counts in the digest. Empty: no such folder.
	Own string
	// Jobs is how many parts are copied at the same time; 0: 8.
	Jobs int
	// Patience is how long a part is tried again while To is not available; 0: 2 minutes.
	Patience time.Duration
	// Step is called when some more series are done; nil: nobody looks. It may be called
	// concurrently.
	Step func(series int)
}

// A Result is what Copy has done.
type Result struct {
	Series   int64 // that From has
	Copied   int64 // made in To
	Equal    int64 // were there
	Replaced int64 // were there, and older
	Kept     int64 // of Options.Own, were there and stay
	Own      int64 // of Series, the ones of Options.Own
	Failed   int64
	Metadata int64 // paths with metadata
	Notes    int64
	Digest   Digest    // of what is equal on both sides, without Options.Own
	Problems []Problem // the first few failures
}

// A Problem is a series, or the metadata or notes of a path, that To does not have as From has it.
type Problem struct {
	Path string
	Err  error
}

func (p Problem) String() string { return fmt.Sprintf("%s: %v", p.Path, p.Err) }

// Add adds the result of another part.
func (r *Result) Add(x Result) {
	r.Series += x.Series
	r.Copied += x.Copied
	r.Equal += x.Equal
	r.Replaced += x.Replaced
	r.Kept += x.Kept
	r.Own += x.Own
	r.Failed += x.Failed
	r.Metadata += x.Metadata
	r.Notes += x.Notes
	r.Digest.Add(x.Digest)
	r.Problems = append(r.Problems, x.Problems...)
	r.Problems = r.Problems[:min(len(r.Problems), maxProblems)]
}

// A run is a Copy under way.
type run struct {
	Options
	mu  sync.Mutex // guards out
	out Result
}

// Copy copies everything. A series that cannot be copied is a Problem of the result, and the others
// are copied all the same. The error says why Copy ended early; then the result is of what was
// done.
func Copy(ctx context.Context, o Options) (Result, error) {
	o.Jobs = cmp.Or(o.Jobs, defaultJobs)
	o.Patience = cmp.Or(o.Patience, defaultPatience)
	r := &run{Options: o}
	err := r.all(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out, err
}

func (r *run) all(ctx context.Context) error {
	if err := r.series(ctx); err != nil {
		return err
	}
	if err := r.metadata(ctx); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	if err := r.notes(ctx); err != nil {
		return fmt.Errorf("notes: %w", err)
	}
	return nil
}

// series copies all series.
func (r *run) series(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Jobs)
	var part []core.Series
	copies := func(part []core.Series) { g.Go(func() error { return r.part(ctx, part) }) }
	var err error
	for x, e := range r.From.Select(ctx, core.Query{}) {
		if err = cmp.Or(e, ctx.Err()); err != nil {
			break
		}
		if part = append(part, x); len(part) == chunkSeries {
			copies(part)
			part = nil
		}
	}
	if err == nil && len(part) > 0 {
		copies(part)
	}
	return cmp.Or(g.Wait(), err)
}

// own says whether a path is below Options.Own.
func (r *run) own(path string) bool { return r.Own != "" && strings.HasPrefix(path, r.Own+"/") }

// count counts a series, and how it has come out. packed is what both sides have of it, or nil.
func (r *run) count(path string, packed []byte, how func(out *Result)) {
	var d Digest
	own := r.own(path)
	if packed != nil && !own {
		d.take("series", packed)
	}
	r.tell(func(out *Result) {
		if out.Series++; own {
			out.Own++
		}
		out.Digest.Add(d)
		how(out)
	})
	if r.Step != nil {
		r.Step(1)
	}
}

// kept counts a series of the servers' own that stays.
func (r *run) kept(path string) { r.count(path, nil, func(out *Result) { out.Kept++ }) }

// failed counts a series that was not copied.
func (r *run) failed(path string, err error) {
	r.problem(path, err)
	r.count(path, nil, func(*Result) {})
}

// problem counts a failure.
func (r *run) problem(path string, err error) {
	r.tell(func(out *Result) {
		out.Failed++
		if len(out.Problems) < maxProblems {
			out.Problems = append(out.Problems, Problem{path, err})
		}
	})
}

func (r *run) tell(change func(out *Result)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.out)
}

// The times between attempts grow from firstPause to lastPause.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 2 * time.Second
)

// passing says whether a call that failed may succeed when it is made again.
func passing(err error) bool {
	for _, is := range []error{core.ErrUnavailable, core.ErrRetry, core.ErrFull, core.ErrMemory} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// again calls fn until it succeeds, fails for good, or has failed for longer than patience.
func again(ctx context.Context, patience time.Duration, fn func() error) error {
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := fn()
		if err == nil || ctx.Err() != nil || !passing(err) || time.Since(began) > patience {
			return err
		}
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
	}
}

// A Digest stands for a set of things, in no order: it is the sum of the first 128 bits of the
// SHA-256 of each. Equal sets have equal digests.
type Digest [2]uint64

// take adds a thing of a kind.
func (d *Digest) take(kind string, b []byte) {
	h := sha256.New()
	_, _ = h.Write([]byte(kind + "\n")) // it never fails
	_, _ = h.Write(b)
	sum := h.Sum(nil)
	d.Add(Digest{binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])})
}

// Add adds the things of another digest.
func (d *Digest) Add(x Digest) {
	d[0] += x[0]
	d[1] += x[1]
}

func (d Digest) String() string { return fmt.Sprintf("%016x%016x", d[0], d[1]) }
