package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/allowance"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// An Engine is what a Sink needs of a *core.Store.
type Engine interface {
	Lookup(path string) (core.Ref, error)
	core.Resolver
	core.Creator
	Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error
	AddNote(ctx context.Context, key string, n core.Note) error
	Relabel(ctx context.Context, ls []core.PathLabels) ([]error, error)
	SetMetadata(ctx context.Context, ms []core.PathMetadata) ([]error, error)
	core.MetadataLister
	Info(ref core.Ref) (core.Info, error)
	Renames() uint64
	Alter(ctx context.Context, path string, change func(core.Copy) (core.Copy, error)) (core.Ref, error)
}

// A Finder is an Engine that finds many series at once. It need not wait for a part of the store
// that is out of reach: then it has core.ErrUnavailable for a path, and CreateBatch is asked to
// make the series, and may return a reference that stands for it.
type Finder interface {
	Engine
	// Find calls fn with the series of each path, in order.
	Find(ctx context.Context, paths []string, fn func(i int, s core.Series, err error))
}

// The defaults of Options.
const (
	DefaultSenderBurst = 200_000
	DefaultSenderRate  = 20_000
)

// A newest is an Engine whose Info may lack what others have stored a moment ago.
type newest interface {
	// Newest is Info with all that is stored.
	Newest(ref core.Ref) (core.Info, error)
}

// newest returns a series with all that is stored.
func (s *Sink) newest(ref core.Ref) (core.Info, error) {
	if e, ok := s.store.(newest); ok {
		return e.Newest(ref)
	}
	return s.store.Info(ref)
}

// Options configures a Sink. The zero value is what production runs.
type Options struct {
	// Policy decides about new series, until SetPolicy is called; nil: the protocols decide.
	Policy *Policy
	// SenderBurst is how many series one sender may make at once; 0: DefaultSenderBurst, negative:
	// no limit.
	SenderBurst int
	// SenderRate is how many more series one sender may make each minute; 0: DefaultSenderRate.
	SenderRate int
	// Now is the clock by which allowances refill; nil: time.Now.
	Now func() time.Time
	// Logger takes a line when a sender begins to send and when series are made; nil: silent.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.SenderBurst == 0 {
		o.SenderBurst = DefaultSenderBurst
	}
	if o.SenderRate <= 0 {
		o.SenderRate = DefaultSenderRate
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// A Sink is a receivers.Sink over an engine. All receivers of a server share one, so that a sender
// has one allowance whatever protocols it speaks.
type Sink struct {
	*shared
	store Engine
}

// Over returns a Sink that shares everything with s but the engine, which is another way to the
// same series.
func (s *Sink) Over(e Engine) *Sink { return &Sink{s.shared, e} }

// A shared is what Sinks over several ways to the same series share.
type shared struct {
	o       Options
	policy  atomic.Pointer[Policy]
	tickets sync.Pool
	made    atomic.Uint64
	refused refusalCount
	allowed allowance.Allowances
	heard   heard
	roll    roll
	learn   learner
	renames atomic.Int64 // as the engine said
	asked   atomic.Int64 // when it was asked for renames, in seconds
}

// New returns a Sink over s.
func New(s Engine, o Options) *Sink {
	sink := &Sink{store: s, shared: &shared{o: o.withDefaults()}}
	sink.allowed.Burst, sink.allowed.Rate = float64(sink.o.SenderBurst), float64(sink.o.SenderRate)/60
	sink.SetPolicy(o.Policy)
	sink.heard.log, sink.heard.now = sink.o.Logger, sink.o.Now
	return sink
}

// SetPolicy replaces the policy; nil: the protocols decide. The senders' allowances stay as they
// are.
func (s *Sink) SetPolicy(p *Policy) {
	if p == nil {
		p = new(Policy)
	}
	s.policy.Store(p)
}

// Policy returns the policy. It is not nil.
func (s *Sink) Policy() *Policy { return s.policy.Load() }

// Submit is receivers.Sink's.
func (s *Sink) Submit(ctx context.Context, b *core.Batch) (receivers.Pending, error) {
	t, ok := s.tickets.Get().(*ticket)
	if !ok {
		t = &ticket{shared: s.shared}
	}
	t.young, t.moved, t.renames = nil, false, s.renamed()
	if s.roll.count(b, s.o.Now()) { // before the store has b
		t.young, t.moved = s.take(ctx, b)
		t.sink, t.batch, t.named = s, b, b.Rejections
		b.Rejections = b.Len() // follow must know all
	}
	if err := s.store.Submit(ctx, b, &t.Ticket); err != nil {
		s.landed(t.young, err)
		if t.batch != nil {
			b.Rejections = t.named
		}
		t.sink, t.batch = nil, nil
		return nil, err
	}
	return t, nil
}

// renamed returns how many series were renamed, as the engine said, which may have to ask others.
func (s *Sink) renamed() uint64 {
	if at, now := s.asked.Load(), s.o.Now().Unix(); max(now-at, at-now) >= 10 && s.asked.CompareAndSwap(at, now) {
		go func() { s.renames.Store(int64(s.store.Renames())) }()
	}
	return uint64(s.renames.Load())
}

// A ticket is an engine's Ticket that Wait puts back into its pool.
type ticket struct {
	core.Ticket
	*shared
	young   []*young // series that are watched, with samples in the batch
	moved   bool
	renames uint64

	// If samples of watched series may be in the batch; else nil:
	sink  *Sink
	batch *core.Batch
	named int // the batch's own Rejections
}

// Moved and Renames are receivers.Moved's.
func (t *ticket) Moved() bool     { return t.moved }
func (t *ticket) Renames() uint64 { return t.renames }

func (t *ticket) Wait() error {
	err := t.Ticket.Wait()
	t.landed(t.young, err)
	if t.batch != nil {
		err = t.sink.follow(t.young, t.batch, err)
		t.batch.Rejections = t.named
		t.sink, t.batch = nil, nil
	}
	t.tickets.Put(t)
	return err
}

// follow hands over again what the store has refused of b because another node has replaced a
// series of on, and returns what is left of err.
func (s *Sink) follow(on []*young, b *core.Batch, err error) error {
	r, ok := errors.AsType[*core.RejectedError](err)
	if !ok {
		return err
	}
	ctx, cancel := receivers.Asking(context.Background())
	defer cancel()
	to := make(map[int]core.Ref)
	for _, x := range r.First {
		if !x.Gone() {
			continue
		}
		if ref := s.successor(ctx, on, b.Ref(x.Index)); ref != 0 {
			to[x.Index] = ref
		}
	}
	if len(to) == 0 {
		return err
	}
	var again core.Batch
	var at []int // the indices in b
	b.Split(func(i int, _ core.Ref) (*core.Batch, core.Ref) {
		ref := to[i]
		if ref == 0 {
			return nil, 0
		}
		at = append(at, i)
		return &again, ref
	})
	var t core.Ticket
	if failed := s.store.Submit(ctx, &again, &t); failed != nil {
		return err
	}
	failed := t.Wait()
	more, ok := errors.AsType[*core.RejectedError](failed)
	if failed != nil && !ok {
		return err
	}
	return joined(r, at, more)
}

// joined returns what a batch was refused of in two attempts; more is of the second one, which had
// the samples with the indices at; nil: all of them were stored. r names a sample that a detour
// keeps, and does not count it.
func joined(r *core.RejectedError, at []int, more *core.RejectedError) error {
	out := &core.RejectedError{Accepted: r.Accepted, Late: r.Late, Other: max(r.Other-len(at), 0)}
	out.First = slices.DeleteFunc(slices.Clone(r.First), func(x core.Rejection) bool {
		_, again := slices.BinarySearch(at, x.Index)
		return again
	})
	out.Add(more, len(at), func(x core.Rejection) core.Rejection { return core.Rejection{Index: at[x.Index], Err: x.Err} })
	if len(out.First) == 0 {
		return nil
	}
	slices.SortFunc(out.First, func(a, b core.Rejection) int { return cmp.Compare(a.Index, b.Index) })
	return out
}

// Last is receivers.Sink's. Of a series that was replaced it is what the series has that took its
// place.
func (s *Sink) Last(ctx context.Context, ref core.Ref) (at rra.Time, reading float64, err error) {
	info, err := s.newest(ref)
	if errors.Is(err, core.ErrNotFound) {
		if ref = s.successor(ctx, nil, ref); ref != 0 {
			info, err = s.newest(ref)
		}
	}
	if err != nil {
		return 0, 0, fmt.Errorf("last sample: %w", err)
	}
	at, reading = info.LastUpdate(), math.NaN()
	for i := range info.Definition.Sources {
		if info.Definition.Sources[i].Kind == rra.Compute {
			continue
		}
		v, texts := info.Machine.LastValue(&info.State, i)
		if v.Tag == rra.TagFloat { // its text is read as this double by rrdtool alone
			reading = math.Float64frombits(v.Bits)
		} else if x, err := strconv.ParseFloat(rra.FormatReading(v, texts), 64); err == nil {
			reading = x
		}
		break
	}
	return at, reading, nil
}

// Note is receivers.Sink's.
func (s *Sink) Note(ctx context.Context, key string, n core.Note) error {
	n.Text, n.Severity = strings.ToValidUTF8(n.Text, "\uFFFD"), strings.ToValidUTF8(n.Severity, "\uFFFD")
	n.Labels = labelTexts(n.Labels, receivers.LabelText)
	return s.store.AddNote(ctx, key, n)
}

// Stats is a snapshot of a Sink's counters.
type Stats struct {
	// Made is how many series were made.
	Made uint64
	// Refused counts, by Refusal, how often a series was not made. Another attempt counts again.
	Refused [numRefusals]uint64
	// Senders is how many senders have an allowance of their own.
	Senders int
}

// Stats returns a snapshot.
func (s *Sink) Stats() Stats {
	st := Stats{Made: s.made.Load()}
	for i := range st.Refused {
		st.Refused[i] = s.refused[i].Load()
	}
	st.Senders = s.allowed.Senders()
	return st
}
