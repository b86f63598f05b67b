package detour_test

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/detour"
	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// How the leader of a partition behaves.
type mode int

const (
	leads   mode = iota
	nobody       // there is no leader, and no replica
	deposed      // calls that change something are refused
	mute         // changes are made, and the answers are lost
	silent       // calls wait until the mode changes, and fail or succeed then, in turn
)

// A seat is a partition with one store behind whoever leads it.
type seat struct {
	core.Engine
	store core.Engine

	mu      sync.Mutex
	mode    mode
	changed chan struct{}
	calls   int
}

func (s *seat) set(m mode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = m
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *seat) now() (m mode, changed chan struct{}, call int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	return s.mode, s.changed, s.calls
}

var errAway = fmt.Errorf("the node is gone: %w", core.ErrUnavailable)

// call makes a call as the mode says.
func (s *seat) call(changes bool, fn func() error) error {
	switch m, changed, call := s.now(); {
	case m == nobody, m == deposed && changes && call%2 == 0:
		return errAway
	case m == deposed && changes:
		return core.ErrNotLeader
	case m == mute:
		_ = fn() // nobody hears it
		return errAway
	case m == silent:
		<-changed
		if call%2 == 0 {
			return errAway
		}
	}
	return fn()
}

func (s *seat) Lookup(path string) (ref core.Ref, err error) {
	err = s.call(false, func() (err error) { ref, err = s.store.Lookup(path); return err })
	return ref, err
}

func (s *seat) Resolve(ctx context.Context, refs []core.Ref, fn func(i int, x core.Series) bool) error {
	return s.call(false, func() error { return s.store.Resolve(ctx, refs, fn) })
}

func (s *seat) ListMetadata(ctx context.Context, q core.MetadataQuery) iter.Seq2[core.PathMetadata, error] {
	return func(yield func(core.PathMetadata, error) bool) {
		var m core.Metadata
		err := s.call(false, func() (err error) { m, err = core.MetadataOf(ctx, s.store, q.Path); return err })
		yield(core.PathMetadata{Path: q.Path, Metadata: m}, err)
	}
}

func (s *seat) CreateBatch(ctx context.Context, specs []core.Spec) (out []core.Created, err error) {
	err = s.call(true, func() (err error) { out, err = s.store.CreateBatch(ctx, specs); return err })
	return out, err
}

func (s *seat) Submit(_ context.Context, b *core.Batch, t *core.Ticket) error {
	t.Begin()
	go func() {
		t.Complete(s.call(true, func() error { return core.Append(context.Background(), s.store, b) }))
	}()
	return nil
}

// A world is a Directory of seats, and what is over it.
type world struct {
	t       testing.TB
	seats   []*seat
	router  *router.Store
	detour  *detour.Detour
	options detour.Options
	dir     string // of the spool
	bytes   int64
}

const patience = 200 * time.Millisecond

func newWorld(t testing.TB, partitions int) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), options: detour.Options{Patience: patience}}
	for range partitions {
		store := enginetest.OpenDir(t, t.TempDir(), core.Options{Sync: wal.SyncNone})
		w.seats = append(w.seats, &seat{Engine: store, store: store, changed: make(chan struct{})})
	}
	var err error
	w.router, err = router.New(w, router.Options{Wait: 10 * patience})
	must(t, err)
	return w
}

// open opens the spool and the detour. They are closed when the test is over.
func (w *world) open() *world {
	w.t.Helper()
	w.options.Dir, w.options.Bytes = w.dir, cmp.Or(w.bytes, 1<<30)
	return w.begin()
}

// begin opens the detour.
func (w *world) begin() *world {
	w.t.Helper()
	d, err := detour.New(w.router, w, w.options)
	must(w.t, err)
	w.detour = d
	w.t.Cleanup(func() {
		for _, s := range w.seats {
			s.set(leads)
		}
		if err := d.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return w
}

func (w *world) Partitions() int { return len(w.seats) }

func (w *world) Leader(ctx context.Context, p int) (core.Engine, error) {
	for {
		m, changed, _ := w.seats[p].now()
		switch {
		case m != nobody:
			return w.seats[p], nil
		case ctx.Err() != nil:
			return nil, errAway
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func (w *world) Reader(ctx context.Context, p int) (core.Engine, error) { return w.Leader(ctx, p) }

// settle waits until the spool has nothing of any partition.
func (w *world) settle() {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		st := w.detour.Figures()
		if st.Partitions == 0 && st.Bytes == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the spool was not delivered in a minute: %+v", st)
		}
	}
}

// submit submits samples of one time, one value for each reference, and waits for the outcome.
func (w *world) submit(at int64, value float64, refs ...core.Ref) error {
	var b core.Batch
	for _, ref := range refs {
		b.Add(ref, rra.Seconds(at), rra.Float(value))
	}
	return core.Append(context.Background(), w.detour, &b)
}

// gauge is a series whose rows are its samples.
func gauge(path string) core.Spec {
	return core.Spec{Path: path, Start: rra.Seconds(begin), Definition: &rra.Definition{
		Step:     1,
		Sources:  []rra.DataSource{{Name: "v", Kind: rra.Gauge, Heartbeat: 1000, Min: math.NaN(), Max: math.NaN()}},
		Archives: []rra.Archive{{CF: rra.Average, XFF: 0.5, PDPs: 1, Rows: 2000}},
	}}
}

// begin is when the series of the tests begin, in seconds.
const begin = 1_000_000_000

// pathIn returns the n-th path of a partition.
func pathIn(p, partitions, n int) string {
	for i := 0; ; i++ {
		if path := fmt.Sprintf("s%d", i); router.Partition(path, partitions) == p {
			if n--; n < 0 {
				return path
			}
		}
	}
}

// series makes the first series of each partition.
func (w *world) series() (refs []core.Ref) {
	w.t.Helper()
	for p := range w.seats {
		path := pathIn(p, len(w.seats), 0)
		_, err := core.Create(w.t.Context(), w.seats[p].store, gauge(path))
		must(w.t, err)
		ref, err := w.detour.Lookup(path)
		for deadline := time.Now().Add(time.Minute); err != nil; ref, err = w.detour.Lookup(path) { // the machine is slow
			if time.Now().After(deadline) {
				w.t.Fatal(err)
			}
		}
		refs = append(refs, ref)
	}
	return refs
}

func (w *world) create(spec core.Spec) core.Created {
	w.t.Helper()
	out, err := w.detour.CreateBatch(w.t.Context(), []core.Spec{spec})
	must(w.t, err)
	return out[0]
}

// last returns the time of the last sample of the first series of a partition.
func (w *world) last(p int) int64 {
	w.t.Helper()
	s := w.seats[p].store
	ref, err := s.Lookup(pathIn(p, len(w.seats), 0))
	must(w.t, err)
	at, err := core.Last(context.Background(), s, ref)
	must(w.t, err)
	return at.Unix()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
