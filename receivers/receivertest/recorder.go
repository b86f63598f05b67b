package receivertest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// A Sample is one sample that reached a Recorder.
type Sample struct {
	Path   string
	At     rra.Time
	Values []rra.Value
}

// A Recorder is a receivers.Sink that remembers everything. The zero value is ready.
type Recorder struct {
	// Policy decides about new series; nil: the receiver does.
	Policy *sink.Policy
	// MaxSeries is how many series there may be; 0: any number.
	MaxSeries int

	mu      sync.Mutex // guards what follows
	refs    map[string]core.Ref
	series  []core.Series // by Ref, from 1
	samples []Sample
	notes   map[string][]core.Note
	texts   map[string]core.Metadata
	stalled chan struct{} // not nil: Submit waits until this is closed
	waiting int           // calls of Submit that wait for stalled
	batches int
	changed chan struct{} // closed and replaced whenever something changes
}

// Resolve makes every series that is not there.
func (r *Recorder) Resolve(_ context.Context, reqs []receivers.Request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.change()
	if r.refs == nil {
		r.refs = make(map[string]core.Ref)
	}
	for i := range reqs {
		q := &reqs[i]
		ref, ok := r.refs[q.Path]
		if ok && q.Relabel {
			r.series[ref-1].Labels = q.Labels
		}
		if !ok {
			if r.MaxSeries > 0 && len(r.series) >= r.MaxSeries {
				q.Err = core.ErrSeriesLimit
				continue
			}
			d, err := r.Policy.DefineRequest(q)
			if err != nil {
				q.Err = err
				continue
			}
			ref = core.Ref(len(r.series) + 1)
			r.refs[q.Path] = ref
			r.series = append(r.series, core.Series{Ref: ref, Path: q.Path, Labels: q.Labels, Definition: d})
		}
		q.Ref, q.Made, q.Definition, q.Err = ref, !ok, r.series[ref-1].Definition, nil
	}
	return nil
}

// Submit remembers the samples of b, once it is not stalled.
func (r *Recorder) Submit(ctx context.Context, b *core.Batch) (receivers.Pending, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.stalled != nil {
		stalled := r.stalled
		r.waiting++
		r.change()
		r.mu.Unlock()
		var err error
		select {
		case <-stalled:
		case <-ctx.Done():
			err = ctx.Err()
		}
		r.mu.Lock()
		r.waiting--
		if err != nil {
			return nil, err
		}
	}
	r.batches++
	for s := range b.All() {
		if s.Ref == 0 || int(s.Ref) > len(r.series) {
			return nil, fmt.Errorf("receivertest: sample of the unknown reference %d", s.Ref)
		}
		r.samples = append(r.samples, Sample{r.series[s.Ref-1].Path, s.At, slices.Clone(s.Values)})
	}
	r.change()
	return done{}, nil
}

type done struct{}

func (done) Wait() error { return nil }

// Note remembers n.
func (r *Recorder) Note(_ context.Context, key string, n core.Note) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.notes == nil {
		r.notes = make(map[string][]core.Note)
	}
	r.notes[key] = append(r.notes[key], n)
	r.change()
	return nil
}

// Describe remembers ds.
func (r *Recorder) Describe(_ context.Context, ds []receivers.Description) ([]error, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.texts == nil {
		r.texts = make(map[string]core.Metadata)
	}
	for _, d := range ds {
		r.texts[d.Path] = d.Metadata
	}
	r.change()
	return make([]error, len(ds)), nil
}

// Metadata returns what was remembered of path.
func (r *Recorder) Metadata(_ context.Context, path string) (core.Metadata, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.texts[path], nil
}

// Last returns the last sample of a series.
func (r *Recorder) Last(_ context.Context, ref core.Ref) (rra.Time, float64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ref == 0 || int(ref) > len(r.series) {
		return 0, 0, core.ErrNotFound
	}
	for i := len(r.samples) - 1; i >= 0; i-- {
		if s := r.samples[i]; s.Path == r.series[ref-1].Path && len(s.Values) > 0 {
			return s.At, rra.NumericValue(rra.Gauge, s.Values[0], nil), nil
		}
	}
	return 0, math.NaN(), nil
}

// Stall makes Submit wait until release is called or the context of Submit ends.
func (r *Recorder) Stall() (release func()) {
	stalled := make(chan struct{})
	r.mu.Lock()
	r.stalled = stalled
	r.mu.Unlock()
	return sync.OnceFunc(func() {
		r.mu.Lock()
		r.stalled = nil
		r.mu.Unlock()
		close(stalled)
	})
}

// change wakes those that wait. r.mu is held.
func (r *Recorder) change() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// Until waits until cond returns true, or ctx ends. cond is called with r locked: it may use its
// argument and nothing else of r.
func (r *Recorder) Until(ctx context.Context, cond func(State) bool) error {
	for {
		r.mu.Lock()
		if cond(r.state()) {
			r.mu.Unlock()
			return nil
		}
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A State is what a Recorder has been given so far.
type State struct {
	Series  []core.Series
	Samples []Sample
	Notes   map[string][]core.Note
	Texts   map[string]core.Metadata // by path
	Waiting int                      // calls of Submit that wait, because it is stalled
	Batches int
}

func (r *Recorder) state() State {
	return State{r.series, r.samples, r.notes, r.texts, r.waiting, r.batches}
}

// Samples returns the samples so far, in order.
func (r *Recorder) Samples() []Sample {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Sample(nil), r.samples...)
}

// Series returns the series so far, in the order they were made.
func (r *Recorder) Series() []core.Series {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]core.Series(nil), r.series...)
}

// Notes returns the notes so far by key.
func (r *Recorder) Notes() map[string][]core.Note {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := make(map[string][]core.Note, len(r.notes))
	for k, ns := range r.notes {
		m[k] = append([]core.Note(nil), ns...)
	}
	return m
}
