package core_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// A swapper lets stores of one log swap roles at random while they are written, and does to a store
// with a log to itself what succeeds.
type swapper struct {
	t      *testing.T
	r      *rand.Rand
	log    *waltest.Stream
	dirs   []string
	stores []*core.Store
	alone  *core.Store // the model
	refuse error       // what the log does to records
	tick   int64
	names  int
	paths  []string
	defs   []*rra.Definition

	rounds, equal int // of digests, and stores that had the leader's
}

func newSwapper(t *testing.T, seed uint64, n int) *swapper {
	w := &swapper{t: t, r: rand.New(rand.NewPCG(seed, 7)), log: waltest.NewStream(seed)}
	w.log.Fault = func(wal.Pos, wal.Pos) error { return w.refuse }
	w.defs = []*rra.Definition{
		testDefinition(t),
		testDefinition(t, "DS:x:COUNTER:100:U:U", "DS:y:GAUGE:100:U:U", "RRA:AVERAGE:0.5:1:20", "RRA:LAST:0.5:3:20"),
		testDefinition(t, "DS:x:GAUGE:100:U:U", "RRA:HWPREDICT:20:0.1:0.1:5"),
	}
	for range n {
		w.dirs = append(w.dirs, t.TempDir())
		w.stores = append(w.stores, w.open(len(w.dirs)-1))
	}
	w.alone = mustOpen(t, t.TempDir(), core.Options{NoBackground: true, Sync: wal.SyncNone})
	return w
}

func (w *swapper) open(i int) *core.Store {
	return mustOpen(w.t, w.dirs[i], shared(core.Options{NoBackground: true}, w.log))
}

// known returns a path that may be a series.
func (w *swapper) known() string {
	if len(w.paths) == 0 {
		return "none"
	}
	return pick(w.r, w.paths...)
}

// write draws a call that writes. The call returns what came of it, as a text where that is no
// error.
func (w *swapper) write() func(*core.Store) (string, error) {
	ctx, path := w.t.Context(), w.known()
	label := []core.Label{{Name: "l", Value: fmt.Sprint(w.r.IntN(5))}}
	md := core.Metadata{Time: rra.Seconds(w.tick), Text: fmt.Sprint(w.r.IntN(9)), Attributes: label}
	told := func(errs []error, err error) (string, error) { return fmt.Sprint(errs), err }
	switch w.r.IntN(10) {
	case 0, 1:
		w.names++
		path = fmt.Sprintf("p%d/s%d", w.r.IntN(3), w.names)
		w.paths = append(w.paths, path)
		spec := core.Spec{Path: path, Definition: pick(w.r, w.defs...), Start: rra.Seconds(programStart + w.tick), Labels: label}
		return func(s *core.Store) (string, error) {
			out, err := s.CreateBatch(ctx, []core.Spec{spec})
			return fmt.Sprint(out), err
		}
	case 2:
		return func(s *core.Store) (string, error) { return "", core.Drop(ctx, s, path) }
	case 3:
		w.names++
		to := fmt.Sprintf("r/%d", w.names)
		w.paths = append(w.paths, to)
		return func(s *core.Store) (string, error) { return "", s.Rename(ctx, path, to) }
	case 4:
		return func(s *core.Store) (string, error) {
			return told(s.Relabel(ctx, []core.PathLabels{{Path: path, Labels: label}}))
		}
	case 5:
		return func(s *core.Store) (string, error) {
			return told(s.SetMetadata(ctx, []core.PathMetadata{{Path: path, Metadata: md}}))
		}
	case 6:
		return func(s *core.Store) (string, error) {
			return told(s.SetMetadata(ctx, []core.PathMetadata{{Path: path, Metadata: md, Expires: true}}))
		}
	case 7:
		return func(s *core.Store) (string, error) { return "", s.AddNote(ctx, path, core.Note{Text: md.Text}) }
	case 8:
		return func(s *core.Store) (string, error) {
			ref, err := s.Alter(ctx, path, func(c core.Copy) (core.Copy, error) {
				c.Labels = label
				return c, nil
			})
			return fmt.Sprint(ref), err
		}
	}
	w.names++
	to := fmt.Sprintf("i/%d", w.names)
	w.paths = append(w.paths, to)
	c := core.Copy{Path: to} // of nothing
	if ref, err := w.alone.Lookup(path); err == nil {
		if c, err = w.alone.Export(ctx, ref); err != nil {
			w.t.Fatal(err)
		}
		c.Path = to
	}
	return func(s *core.Store) (string, error) {
		out, err := s.Import(ctx, []core.Copy{c}, false)
		return fmt.Sprint(out), err
	}
}

// refused says whether a call stored nothing because of the log.
func refused(err error) bool {
	return errors.Is(err, core.ErrNotLeader) || errors.Is(err, wal.ErrRetry) || errors.Is(err, wal.ErrFull)
}

// change makes a call of one of the stores, and of the model unless it was refused.
func (w *swapper) change() {
	call := w.write()
	s := pick(w.r, w.stores...)
	got, err := call(s)
	if refused(err) {
		return
	}
	want, e := call(w.alone)
	if got != want || fmt.Sprint(err) != fmt.Sprint(e) {
		w.t.Fatalf("a store says %q, %v; the model %q, %v", got, err, want, e)
	}
}

// samples draws a batch. Few of its samples are late.
func (w *swapper) samples() *core.Batch {
	b := new(core.Batch)
	b.Rejections = 1 << 10
	w.tick += 1 + w.r.Int64N(12)
	for x, err := range w.alone.Select(w.t.Context(), core.Query{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if w.r.IntN(4) == 0 {
			continue
		}
		info, err := w.alone.Info(x.Ref)
		if err != nil {
			w.t.Fatal(err)
		}
		values := make([]rra.Value, len(info.Definition.Sources))
		for i := range values {
			values[i] = rra.Float(float64(w.r.IntN(1000)) + w.r.Float64()) // coded against the one before
		}
		b.Add(x.Ref, rra.Seconds(programStart+w.tick-w.r.Int64N(2)*w.r.Int64N(20)), values...)
	}
	return b
}

// feed submits some batches to one store, all on their way at once, and perhaps makes another one
// the leader meanwhile.
func (w *swapper) feed() {
	s := pick(w.r, w.stores...)
	swap := w.r.IntN(4) == 0
	if swap {
		w.log.Hold()
	}
	var batches []*core.Batch
	var tickets []*core.Ticket
	for range 1 + w.r.IntN(5) {
		b, t := w.samples(), new(core.Ticket)
		if err := s.Submit(w.t.Context(), b, t); err == nil {
			batches, tickets = append(batches, b), append(tickets, t)
		} else if !refused(err) {
			w.t.Fatal(err)
		}
	}
	if swap {
		other := pick(w.r, w.stores...)
		err := other.Promote(w.t.Context())
		w.log.Release()
		mustClose(w.t, err)
	}
	for i, t := range tickets {
		err := t.Wait()
		if refused(err) {
			continue
		}
		if e := w.alone.Append(w.t.Context(), batches[i]); rejections(e) != rejections(err) {
			w.t.Fatalf("a store says %v, the model %v", err, e)
		}
	}
}

// rejections returns what a batch's error says of each sample.
func rejections(err error) string {
	e, ok := errors.AsType[*core.RejectedError](err)
	if !ok {
		return fmt.Sprint(err)
	}
	var out strings.Builder
	fmt.Fprint(&out, e.Accepted, e.Late, e.Other)
	for _, r := range e.First {
		fmt.Fprint(&out, " ", r.Index)
	}
	return out.String()
}

// step does something at random.
func (w *swapper) step() {
	ctx := w.t.Context()
	i := w.r.IntN(len(w.stores))
	s := w.stores[i]
	switch w.r.IntN(13) {
	case 12:
		w.round()
	case 0:
		mustClose(w.t, s.Promote(ctx))
	case 1:
		mustClose(w.t, s.Demote(ctx))
	case 2:
		if w.r.IntN(2) == 0 {
			mustClose(w.t, s.Abandon())
		} else {
			mustClose(w.t, s.Close())
		}
		w.stores[i] = w.open(i)
	case 3:
		mustClose(w.t, s.Checkpoint(ctx))
	case 4:
		upto := s.Checkpointed()
		for _, other := range w.stores {
			upto = min(upto, other.Checkpointed())
		}
		if err := s.Truncate(upto); err != nil && !refused(err) {
			w.t.Fatal(err)
		}
	case 5:
		w.refuse = pick(w.r, nil, nil, errors.New("no leader"), error(syscall.ENOSPC))
		w.feed()
		w.change()
		w.refuse = nil
	case 6, 7, 8:
		w.change()
	default:
		w.feed()
	}
}

// round lets the stores take a digest while they are written: those that took one have the same.
func (w *swapper) round() {
	var lead *core.Store
	for _, s := range w.stores {
		if s.Role() == core.Leader {
			lead = s // it may be wrong
		}
	}
	if lead == nil {
		return
	}
	type taken struct {
		core.Digested
		error
	}
	told := make(chan taken, 1)
	go func() {
		d, err := lead.TakeDigest(w.t.Context(), 1)
		told <- taken{d, err}
	}()
	for range 3 {
		w.feed()
		w.change()
	}
	d := <-told
	if d.error != nil {
		return // another one leads
	}
	w.rounds++
	for _, s := range w.stores {
		if st, _ := s.Standing(); st.Role == core.Halted || s != lead && st.Role == core.Leader {
			continue // a leader that was replaced and does not know stands still
		}
		sum, err := s.AwaitDigest(w.t.Context(), d.At)
		switch {
		case err != nil && strings.Contains(err.Error(), "ahead"): // it was opened since the last record
		case err != nil:
			w.t.Fatal(err)
		case sum != d.Sum:
			w.t.Fatalf("at %d a store has the digest %x, the leader %x", d.At, sum, d.Sum)
		default:
			w.equal++
		}
	}
}

// settle makes one store the leader and compares all with the model.
func (w *swapper) settle() {
	lead := pick(w.r, w.stores...)
	for _, s := range w.stores {
		if s != lead {
			mustClose(w.t, s.Demote(w.t.Context()))
		}
	}
	mustClose(w.t, lead.Demote(w.t.Context())) // it may believe that it leads
	mustPromote(w.t, lead)
	for i, s := range w.stores {
		await(w.t, s, w.log)
		same(w.t, fmt.Sprintf("store %d", i), s, w.alone)
	}
}

// TestSwappedRoles lets three stores swap roles at random while records are appended, fail, and are
// on their way. All of them then hold what a store holds that got what was acknowledged, once.
func TestSwappedRoles(t *testing.T) {
	seed := seedtest.One(t)
	rounds, equal := 0, 0
	for i := range seedtest.Programs(12, 20) {
		w := newSwapper(t, seed+uint64(i), 3)
		for range 4 {
			for range 15 {
				w.step()
			}
			w.settle()
		}
		for _, s := range append(w.stores, w.alone) {
			mustClose(t, s.Close())
		}
		rounds += w.rounds
		equal += w.equal
	}
	t.Logf("%d rounds of digests, %d stores took the same as their leader", rounds, equal)
	if equal <= rounds { // the leaders themselves
		t.Error("no follower has taken a digest")
	}
}
