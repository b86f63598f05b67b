package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// An Engine is what a Sink needs of a *core.Store.
type Engine interface {
	Lookup(path string) (core.Ref, error)
	Series(ref core.Ref) (core.Series, error)
	CreateBatch(ctx context.Context, specs []core.Spec) ([]core.Created, error)
	Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error
	AddNote(ctx context.Context, key string, n core.Note) error
	Relabel(ctx context.Context, ls []core.PathLabels) ([]error, error)
	SetMetadata(ctx context.Context, ms []core.PathMetadata) ([]error, error)
	Metadata(path string) (core.Metadata, error)
}

// The defaults of Options.
const (
	DefaultSenderBurst = 200_000
	DefaultSenderRate  = 20_000
)

// Options says how a Sink makes series. The zero value is what production runs.
type Options struct {
	// Policy decides about new series, until SetPolicy; nil: the protocols do.
	Policy *Policy
	// SenderBurst is how many series a sender may make at once; 0: DefaultSenderBurst, negative: no
	// limit.
	SenderBurst int
	// SenderRate is how many more it may make a minute; 0: DefaultSenderRate.
	SenderRate int
	// Now is the clock of the limit; nil: time.Now.
	Now func() time.Time
	// Logger is told who begins to send, and how many series are made; nil: silent.
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

// A Sink is the Sink over an engine. All receivers of a server share one, so that
// a sender's limit is one limit.
type Sink struct {
	store   Engine
	o       Options
	policy  atomic.Pointer[Policy]
	tickets sync.Pool
	made    atomic.Uint64
	refused [numRefusals]atomic.Uint64
	allowed allowances
	heard   heard
}

// New returns a Sink over s.
func New(s Engine, o Options) *Sink {
	sink := &Sink{store: s, o: o.withDefaults()}
	sink.allowed = allowances{
		burst: float64(sink.o.SenderBurst), rate: float64(sink.o.SenderRate), now: sink.o.Now, bySender: make(map[string]*allowance),
	}
	sink.policy.Store(o.Policy)
	sink.heard.log, sink.heard.now = sink.o.Logger, sink.o.Now
	return sink
}

// SetPolicy puts p in place of the policy; nil: the protocols decide. What senders may still make
// stays as it is.
func (s *Sink) SetPolicy(p *Policy) { s.policy.Store(p) }

// Policy returns the policy.
func (s *Sink) Policy() *Policy { return s.policy.Load() }

// Resolve is receivers.Sink's.
func (s *Sink) Resolve(ctx context.Context, reqs []receivers.Request) error {
	var specs []core.Spec
	var at []int                       // at[i] is the request of specs[i]
	var relabel []core.PathLabels      // of series that are there
	var relabelled []int               // relabelled[i] is the request of relabel[i]
	same := make(map[string]int)       // path of a spec → its request
	repeated := make(map[int]int)      // request → the earlier one of the same path
	granted := make(map[string]int, 1) // sender → series it was let make and has not made
	defer func() { s.allowed.giveBack(granted) }()
	for i := range reqs {
		r := &reqs[i]
		r.Ref, r.Definition, r.Err = 0, nil, nil
		s.heard.from(r)
		if j, ok := same[r.Path]; ok {
			repeated[i] = j
			continue
		}
		ref, err := s.store.Lookup(r.Path)
		if err == nil {
			if r.Err = s.found(r, ref); r.Err == nil && r.Relabel {
				relabel = append(relabel, core.PathLabels{Path: r.Path, Labels: labels(r)})
				relabelled = append(relabelled, i)
			}
			continue
		}
		if !errors.Is(err, core.ErrNotFound) {
			return fmt.Errorf("look up %q: %w", r.Path, err)
		}
		if !s.allowed.spend(r.Sender) {
			r.Err = receivers.ErrSenderLimit
			s.refuse(r.Err)
			continue
		}
		granted[r.Sender]++
		spec, err := s.spec(r)
		if err != nil {
			r.Err = err
			s.refuse(err)
			continue
		}
		same[r.Path] = i
		specs, at = append(specs, spec), append(at, i)
	}
	if len(specs) > 0 {
		if err := s.create(ctx, reqs, specs, at, granted); err != nil {
			return err
		}
	}
	if err := s.relabel(ctx, reqs, relabel, relabelled); err != nil {
		return err
	}
	for i, j := range repeated {
		reqs[i].Ref, reqs[i].Definition, reqs[i].Err = reqs[j].Ref, reqs[j].Definition, reqs[j].Err
	}
	return nil
}

// create makes the series of specs and fills in their requests. It takes what was made from
// granted.
func (s *Sink) create(ctx context.Context, reqs []receivers.Request, specs []core.Spec, at []int, granted map[string]int) error {
	out := make([]core.Created, 0, len(specs))
	var err error
	for part := range slices.Chunk(specs, core.MaxBatch) {
		var made []core.Created
		if made, err = s.store.CreateBatch(ctx, part); err != nil {
			break
		}
		out = append(out, made...)
	}
	if err != nil {
		for i, c := range out { // earlier parts
			if c.Err == nil {
				granted[reqs[at[i]].Sender]--
				s.made.Add(1)
			}
		}
		return fmt.Errorf("create %d series: %w", len(specs), err)
	}
	made, last := make(map[string]int, 1), make(map[string]*receivers.Request, 1) // by sender
	for i, c := range out {
		r := &reqs[at[i]]
		switch {
		case c.Err == nil:
			r.Ref, r.Definition = c.Ref, specs[i].Definition
			granted[r.Sender]--
			s.made.Add(1)
			s.o.Logger.Debug("series made", "path", r.Path, "sender", r.Sender, "step", r.Definition.Step)
			last[r.Sender] = r
			made[r.Sender]++
		case errors.Is(c.Err, core.ErrExists):
			r.Err = s.found(r, c.Ref)
		default:
			r.Err = c.Err
			s.refuse(c.Err)
		}
	}
	for sender, r := range last {
		s.heard.made(r, made[sender])
	}
	return nil
}

func (s *Sink) found(r *receivers.Request, ref core.Ref) error {
	series, err := s.store.Series(ref)
	if err != nil {
		return fmt.Errorf("series %q: %w", r.Path, err)
	}
	r.Ref, r.Definition = ref, series.Definition
	return nil
}

func (s *Sink) spec(r *receivers.Request) (core.Spec, error) {
	d, err := s.Policy().Define(r.Identity, r.Define)
	if err != nil {
		return core.Spec{}, err
	}
	return core.Spec{Path: r.Path, Labels: labels(r), Definition: d, Start: rra.Seconds(r.Time.Unix() - 1)}, nil
}

// labels returns those that are not empty, as labels can be.
func labels(r *receivers.Request) []core.Label {
	ls := make([]core.Label, 0, len(r.Labels))
	for _, l := range r.Labels {
		if l.Value != "" {
			ls = append(ls, l)
		}
	}
	return labelTexts(ls)
}

// relabel gives series the labels ls, those of the requests at.
func (s *Sink) relabel(ctx context.Context, reqs []receivers.Request, ls []core.PathLabels, at []int) error {
	if len(ls) == 0 {
		return nil
	}
	errs, err := s.store.Relabel(ctx, ls)
	if err != nil {
		return fmt.Errorf("labels of %d series: %w", len(ls), err)
	}
	for i, err := range errs {
		reqs[at[i]].Err = err
	}
	return nil
}

// Submit is receivers.Sink's.
func (s *Sink) Submit(ctx context.Context, b *core.Batch) (receivers.Pending, error) {
	t, ok := s.tickets.Get().(*ticket)
	if !ok {
		t = &ticket{pool: &s.tickets}
	}
	if err := s.store.Submit(ctx, b, &t.Ticket); err != nil {
		return nil, err
	}
	return t, nil
}

// A ticket is an engine's Ticket that goes back to its pool.
type ticket struct {
	core.Ticket
	pool *sync.Pool
}

func (t *ticket) Wait() error {
	err := t.Ticket.Wait()
	t.pool.Put(t)
	return err
}

// Note is receivers.Sink's.
func (s *Sink) Note(ctx context.Context, key string, n core.Note) error {
	n.Text, n.Severity = strings.ToValidUTF8(n.Text, "\uFFFD"), strings.ToValidUTF8(n.Severity, "\uFFFD")
	n.Labels = labelTexts(n.Labels)
	return s.store.AddNote(ctx, key, n)
}
