package router_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A farEngine is a partition of another node. It has one series, and notes the paths that it is
// asked for.
type farEngine struct {
	core.Engine
	series string
	leads  error       // nil: for certain
	doubt  atomic.Bool // it does not lead for certain, whatever leads says
	asked  []string
}

func (e *farEngine) Lookup(path string) (core.Ref, error) {
	e.asked = append(e.asked, path)
	if path != e.series {
		return 0, fmt.Errorf("%s: %w", path, core.ErrNotFound)
	}
	return 1, nil
}

func (e *farEngine) LookupLeading(path string) (core.Ref, error) {
	err := e.leads
	if e.doubt.Load() {
		err = core.ErrNotLeader
	}
	if err != nil {
		e.asked = append(e.asked, path)
		return 0, err
	}
	return e.Lookup(path)
}

func (e *farEngine) FetchMany(_ context.Context, spans []core.Span, fn func(i int, r *core.Rows, err error)) error {
	for i := range spans {
		fn(i, nil, core.ErrNotFound)
	}
	return core.ErrNotFound
}

func (e *farEngine) Lasts(_ context.Context, refs []core.Ref) ([]core.LastTime, error) {
	return slices.Repeat([]core.LastTime{{Time: rra.Seconds(7), There: e.series != ""}}, len(refs)), nil
}

// far is a Directory of one partition, which another node has.
type far struct{ reader, leader *farEngine }

func (far) Partitions() int                                    { return 1 }
func (d far) Reader(context.Context, int) (core.Engine, error) { return d.reader, nil }

func (d far) Leader(ctx context.Context, _ int) (core.Engine, error) {
	if d.leader == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return d.leader, nil
}

// TestLookupAsksOnce: the answer that a series is missing took two calls of another node that leads
// for certain. Where nobody led for certain, as while the leases could not be read, that took 25 s.
func TestLookupAsksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, x := range map[string]struct {
			dir      far
			path     string
			is       error
			asked    int // of the reader; -1: often
			least    time.Duration
			most     time.Duration
			ofLeader int
		}{
			"there, of the leader":       {dir: far{reader: &farEngine{series: "a"}}, path: "a", asked: 1},
			"missing, of the leader":     {dir: far{reader: &farEngine{}}, path: "a", is: core.ErrNotFound, asked: 1},
			"there, leads uncertainly":   {dir: far{reader: &farEngine{series: "a", leads: core.ErrNotLeader}}, path: "a", asked: 2},
			"missing, leads uncertainly": {dir: far{reader: &farEngine{leads: core.ErrNotLeader}}, path: "a", is: core.ErrUnavailable, asked: -1, least: 8 * time.Second, most: 11 * time.Second},
			"there, of a follower":       {dir: far{&farEngine{series: "a"}, &farEngine{series: "a"}}, path: "a", asked: 1},
			"follower lacks it":          {dir: far{&farEngine{}, &farEngine{series: "a"}}, path: "a", asked: 1, ofLeader: 1},
			"missing everywhere":         {dir: far{&farEngine{}, &farEngine{}}, path: "a", is: core.ErrNotFound, asked: 1, ofLeader: 1},
			"missing, nobody leads":      {dir: far{reader: &farEngine{}, leader: nobody}, path: "a", is: core.ErrUnavailable, asked: 1, least: 8 * time.Second, most: 11 * time.Second},
		} {
			reader, leader := x.dir.reader, x.dir.leader
			switch leader {
			case nil:
				x.dir.leader = reader
			case nobody:
				x.dir.leader = nil
			}
			r, err := router.New(x.dir, router.Options{})
			must(t, err)
			began := time.Now()
			_, err = r.Lookup(x.path)
			if !errors.Is(err, x.is) {
				t.Errorf("%s: %v, want %v", name, err, x.is)
			}
			if took := time.Since(began); took < x.least || took > x.most {
				t.Errorf("%s: it takes %v, from %v to %v are right", name, took, x.least, x.most)
			}
			if n := len(reader.asked); x.asked >= 0 && n != x.asked {
				t.Errorf("%s: %d questions, want %d", name, n, x.asked)
			}
			if leader != nil && leader != nobody && len(leader.asked) != x.ofLeader {
				t.Errorf("%s: %d questions to the leader, want %d", name, len(leader.asked), x.ofLeader)
			}
		}
	})
}

// TestReferenceOfLeader: a sender that had just made a series got the answer that it did not exist,
// since a replica that was behind was asked for it, and dropped its samples.
func TestReferenceOfLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, x := range map[string]struct {
			leader *farEngine
			is     error
			least  time.Duration
		}{
			"the replica is behind":        {leader: &farEngine{series: "a"}},
			"the series is gone":           {leader: &farEngine{}, is: core.ErrNotFound},
			"nobody leads for certain":     {leader: &farEngine{leads: core.ErrNotLeader}, is: core.ErrUnavailable, least: 8 * time.Second},
			"nobody who has it is certain": {leader: &farEngine{series: "a", leads: core.ErrNotLeader}, is: core.ErrUnavailable, least: 8 * time.Second},
		} {
			r, err := router.New(far{&farEngine{}, x.leader}, router.Options{})
			must(t, err)
			began := time.Now()
			at, err := core.Last(t.Context(), r, router.Outer(0, 1))
			if !errors.Is(err, x.is) || err == nil && at != rra.Seconds(7) {
				t.Errorf("%s: %v and %v, want %v", name, at, err, x.is)
			}
			if took := time.Since(began); took < x.least || took > x.least+3*time.Second {
				t.Errorf("%s: it takes %v, want %v or a little longer", name, took, x.least)
			}
		}
	})
}

// several is a Directory of partitions that another node has.
type several []*farEngine

func (d several) Partitions() int { return len(d) }

func (d several) Reader(context.Context, int) (core.Engine, error) { return &farEngine{}, nil }

func (d several) Leader(_ context.Context, p int) (core.Engine, error) { return d[p], nil }

// TestVoidReferencesWaitOnce: a request that asked for a hundred void references while no leader
// was certain waited 10 s for each. A leader that becomes certain answers at once, and the next
// doubt is waited for again. A caller that does not wait any more is let go.
func TestVoidReferencesWaitOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := several{{}, {}, {}, {}}
		r, err := router.New(dir, router.Options{})
		must(t, err)
		doubt := func(yes bool) {
			for _, e := range dir {
				e.doubt.Store(yes)
			}
		}
		ask := func(what string, is error, least, most time.Duration) {
			t.Helper()
			began := time.Now()
			for i := range 100 {
				if _, err := core.Last(t.Context(), r, router.Outer(i%len(dir), core.Ref(i+1))); !errors.Is(err, is) {
					t.Fatalf("%s: reference %d: %v, want %v", what, i, err, is)
				}
			}
			if took := time.Since(began); took < least || took > most {
				t.Errorf("%s: it takes %v, from %v to %v are right", what, took, least, most)
			}
		}
		doubt(true)
		ask("in doubt", core.ErrUnavailable, 8*time.Second, 12*time.Second)
		ask("the same doubt", core.ErrUnavailable, 0, time.Second)
		doubt(false)
		ask("certain", core.ErrNotFound, 0, time.Second)
		time.Sleep(time.Minute)
		doubt(true)
		ask("the next doubt", core.ErrUnavailable, 8*time.Second, 12*time.Second)
		time.Sleep(time.Minute)
		time.AfterFunc(3*time.Second, func() { doubt(false) })
		ask("soon certain", core.ErrNotFound, 3*time.Second, 4*time.Second)
		doubt(true)
		ask("a doubt right after that", core.ErrUnavailable, 8*time.Second, 12*time.Second)

		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := core.Fetch(ctx, r, router.Outer(0, 1), 0, 0, 1); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 2*time.Second {
			t.Errorf("a caller with a deadline: %v after %v", err, time.Since(began))
		}
	})
}

// nobody stands for no leader.
var nobody = new(farEngine)

// behind is a Directory of one partition whose replica here has what its leader had once.
type behind struct{ replica, leader core.Engine }

func (d behind) Reader(context.Context, int) (core.Engine, error) { return d.replica, nil }
func (d behind) Leader(context.Context, int) (core.Engine, error) { return d.leader, nil }
func (behind) Partitions() int                                    { return 1 }

// TestNewest: what another node has stored is in the answer, whatever this node's replica lacks.
func TestNewest(t *testing.T) {
	all := openStores(t, 2, core.Options{})
	var ref core.Ref
	for i, s := range all {
		one := newRouter(t, stores{s}, router.Options{})
		ref = manySeries(t, one, 1)[0]
		var b core.Batch
		b.Add(ref, rra.Seconds(begin+10+int64(i)), rra.Float(1))
		must(t, core.Append(t.Context(), one, &b))
	}
	r := newRouter(t, behind{replica: all[0], leader: all[1]}, router.Options{})
	for want, ask := range map[int64]func(core.Ref) (core.Info, error){begin + 10: r.Info, begin + 11: r.Newest} {
		x, err := ask(ref)
		if must(t, err); x.Ref != ref || x.Machine.LastUpdate(x.State.W) != rra.Seconds(want) {
			t.Errorf("%d was updated at %v, want %d", x.Ref, x.Machine.LastUpdate(x.State.W), want)
		}
	}
}
