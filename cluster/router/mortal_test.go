package router_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A mortal is the directory of stores whose leaders die: at any call that changes something,
// before it or after it, and where they are known to be dead or only do not answer. The next
// leader has the same store, as replicas are equal.
type mortal struct {
	stores

	mu   sync.Mutex // guards rnd and died
	rnd  *rand.Rand
	died map[string]int // by when
}

func newMortal(s stores, seed uint64) *mortal {
	return &mortal{stores: s, rnd: rand.New(rand.NewPCG(seed, 7)), died: make(map[string]int)}
}

func (m *mortal) Leader(_ context.Context, p int) (core.Engine, error) {
	return &dying{Engine: m.stores[p], m: m}, nil
}

// fate says how a call ends: it is made or not, and answered or not.
func (m *mortal) fate() (made bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	when := "not"
	switch m.rnd.IntN(10) {
	case 0:
		when, err = "before, and that was known", core.ErrUnanswered
	case 1, 2:
		when, err = "before", core.ErrUnanswered
	case 3, 4:
		made, when, err = true, "after", core.ErrUnanswered
	default:
		made = true
	}
	m.died[when]++
	return made, err
}

// A dying is a leader that may die with each change.
type dying struct {
	core.Engine
	m *mortal
}

func change[T any](d *dying, call func() (T, error)) (out T, err error) {
	made, lost := d.m.fate()
	if made {
		out, err = call()
	}
	if lost != nil {
		var none T
		return none, lost
	}
	return out, err
}

func (d *dying) simple(call func() error) error {
	_, err := change(d, func() (any, error) { return nil, call() })
	return err
}

// Submit ends as the change does. What is refused at once is refused by every leader.
func (d *dying) Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error {
	made, lost := d.m.fate()
	if lost == nil {
		return d.Engine.Submit(ctx, b, t)
	}
	t.Begin()
	if made {
		_ = core.Append(ctx, d.Engine, clone(b)) // nobody hears of it
	}
	go t.Complete(lost)
	return nil
}

// clone returns a copy of a batch, as what travels to another node is one. A store changes texts.
func clone(b *core.Batch) *core.Batch {
	c := new(core.Batch)
	b.Split(func(_ int, ref core.Ref) (*core.Batch, core.Ref) { return c, ref })
	return c
}

func (d *dying) Update(ctx context.Context, ref core.Ref, b *core.Batch) (n int, err error) {
	err = d.simple(func() (err error) {
		n, err = d.Engine.Update(ctx, ref, clone(b))
		return err
	})
	return n, err
}

func (d *dying) Flush(ctx context.Context, refs []core.Ref) error {
	return d.simple(func() error { return d.Engine.Flush(ctx, refs) })
}

func (d *dying) CreateBatch(ctx context.Context, specs []core.Spec) ([]core.Created, error) {
	return change(d, func() ([]core.Created, error) { return d.Engine.CreateBatch(ctx, specs) })
}

func (d *dying) Alter(ctx context.Context, path string, fn func(core.Copy) (core.Copy, error)) (core.Ref, error) {
	return change(d, func() (core.Ref, error) { return d.Engine.Alter(ctx, path, fn) })
}

func (d *dying) Rename(ctx context.Context, path, to string) error {
	return d.simple(func() error { return d.Engine.Rename(ctx, path, to) })
}

func (d *dying) Relabel(ctx context.Context, ls []core.PathLabels) ([]error, error) {
	return change(d, func() ([]error, error) { return d.Engine.Relabel(ctx, ls) })
}

func (d *dying) Drop(ctx context.Context, list []core.Dropping) ([]error, error) {
	return change(d, func() ([]error, error) { return d.Engine.Drop(ctx, list) })
}

func (d *dying) SetMetadata(ctx context.Context, ms []core.PathMetadata) ([]error, error) {
	return change(d, func() ([]error, error) { return d.Engine.SetMetadata(ctx, ms) })
}

func (d *dying) AddNote(ctx context.Context, key string, n core.Note) error {
	return d.simple(func() error { return d.Engine.AddNote(ctx, key, n) })
}

// Leaders die in the middle of calls, and what they had stored was reported as late, as existing or
// as missing, or as failed.
func TestNobodyNoticesThatLeadersDie(t *testing.T) {
	t.Parallel()
	reached := make(map[string]int)
	for _, n := range []int{1, 3} {
		for name, o := range map[string]core.Options{"plain": {}, "limit": {MaxSeries: 12}} {
			t.Run(fmt.Sprintf("partitions=%d/%s", n, name), func(t *testing.T) {
				t.Logf("seed %d", *firstSeed)
				p := newProgram(t, *firstSeed, n, o, reached)
				p.mortal = newMortal(openStores(t, n, o), *firstSeed)
				p.use(newRouter(t, p.mortal, router.Options{MaxSeries: o.MaxSeries, Wait: time.Minute}))
				p.run(150)
				t.Log(p.mortal.died)
				for _, when := range []string{"not", "after", "before", "before, and that was known"} {
					if p.mortal.died[when] == 0 {
						t.Errorf("no leader died %s", when)
					}
				}
			})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(reached)) {
		t.Logf("%6d %s", reached[k], k)
	}
}

// once is a leader that dies after the first batch that it stores.
type once struct {
	core.Engine
	died    bool
	between func() // is called when it has died
}

func (o *once) Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error {
	if o.died {
		return o.Engine.Submit(ctx, b, t)
	}
	o.died = true
	t.Begin()
	_ = core.Append(ctx, o.Engine, clone(b)) // nobody hears of it
	if o.between != nil {
		o.between()
	}
	go t.Complete(core.ErrUnanswered)
	return nil
}

// Samples that were late for another reason than the first attempt, and commands of several
// samples, were reported as stored.
func TestCommandsOfALeaderThatDied(t *testing.T) {
	store := openStores(t, 1, core.Options{})[0]
	r := newRouter(t, stores{&once{Engine: store}}, router.Options{Wait: time.Minute})
	refs := make([]core.Ref, 4)
	for i := range refs {
		var err error
		refs[i], err = core.Create(t.Context(), r, core.Spec{Path: fmt.Sprint("s", i), Definition: gauge(t), Start: rra.Seconds(begin)})
		must(t, err)
	}
	var other core.Batch // of somebody else, who is faster
	other.Add(refs[1]&(1<<48-1), rra.Seconds(begin+77), rra.Int(9))
	must(t, core.Append(t.Context(), store, &other))

	var b core.Batch
	b.Add(refs[0], rra.Seconds(begin+10), rra.Int(1))
	b.Add(refs[0], rra.Seconds(begin+20), rra.Int(2))
	b.Follow()
	b.Add(refs[1], rra.Seconds(begin+10), rra.Int(1)) // late: somebody else was faster
	b.Add(refs[2], rra.Seconds(begin+20), rra.Int(1))
	b.Add(refs[2], rra.Seconds(begin+10), rra.Int(1)) // late: within the batch
	b.Add(refs[3], rra.Seconds(begin+10), rra.Int(1))
	b.Add(refs[3], rra.Seconds(begin+20), rra.Int(1), rra.Int(2)) // refused, and what follows is not looked at
	b.Follow()
	b.Add(refs[3], rra.Seconds(begin+30), rra.Int(3))
	b.Follow()
	err := core.Append(t.Context(), r, &b)
	rejected, ok := errors.AsType[*core.RejectedError](err)
	if !ok || rejected.Accepted != 4 || rejected.Late != 2 || rejected.Other != 1 {
		t.Fatalf("error %v", err)
	}
	var at []int
	for _, x := range rejected.First {
		at = append(at, x.Index)
	}
	if !slices.Equal(at, []int{2, 4, 6}) {
		t.Errorf("refused %v: %v", at, rejected.First)
	}
	if late, ok := errors.AsType[*rra.TimeError](rejected.First[1].Err); !ok || late.Last != rra.Seconds(begin+20) {
		t.Errorf("late within the batch: %v", rejected.First[1].Err)
	}
}

// A sample that was refused was reported as stored: another sender had stored one of the same series
// and time before, and the answer of the first attempt was lost.
func TestRefusedByALeaderThatDied(t *testing.T) {
	store := openStores(t, 1, core.Options{})[0]
	first := &once{Engine: store}
	r := newRouter(t, stores{first}, router.Options{Wait: time.Minute})
	ref, err := core.Create(t.Context(), r, core.Spec{Path: "s", Definition: gauge(t), Start: rra.Seconds(begin)})
	must(t, err)
	other := func(at int64) {
		var b core.Batch
		b.Add(ref&(1<<48-1), rra.Seconds(begin+at), rra.Int(9))
		must(t, core.Append(context.Background(), store, &b))
	}
	for _, stored := range []bool{false, true} {
		var b core.Batch
		if b.Add(ref, rra.Seconds(begin+10), rra.Int(1)); stored {
			b.Reset()
			b.Add(ref, rra.Seconds(begin+20), rra.Int(1))
			first.between = func() { other(30) } // what is stored is late for the next leader
		} else {
			other(10)
		}
		first.died = false
		err := core.Append(t.Context(), r, &b)
		if late, _ := errors.AsType[*core.RejectedError](err); stored && err != nil || !stored && (late == nil || late.Late != 1) {
			t.Errorf("stored %v: %v", stored, err)
		}
	}
}
