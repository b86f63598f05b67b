package sink

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
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
	allowed allowances
	heard   heard
	roll    roll
	learn   learner
}

// New returns a Sink over s.
func New(s Engine, o Options) *Sink {
	sink := &Sink{store: s, shared: &shared{o: o.withDefaults()}}
	sink.allowed = allowances{
		burst: float64(sink.o.SenderBurst), rate: float64(sink.o.SenderRate), now: sink.o.Now, bySender: make(map[string]*allowance),
	}
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
	if t.young, t.moved = nil, false; s.roll.count(b, s.o.Now()) { // before the store has b
		t.young, t.moved = s.take(ctx, b)
	}
	if err := s.store.Submit(ctx, b, &t.Ticket); err != nil {
		s.landed(t.young, err)
		return nil, err
	}
	return t, nil
}

// A ticket is an engine's Ticket that Wait puts back into its pool.
type ticket struct {
	core.Ticket
	*shared
	young []*young // series that are watched, with samples in the batch
	moved bool
}

// Moved is receivers.Moved's.
func (t *ticket) Moved() bool { return t.moved }

func (t *ticket) Wait() error {
	err := t.Ticket.Wait()
	t.landed(t.young, err)
	t.tickets.Put(t)
	return err
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
	st.Senders = s.allowed.senders()
	return st
}
