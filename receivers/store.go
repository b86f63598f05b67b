package receivers

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
	"unicode/utf8"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A Store is what a StoreSink needs of an *core.Store.
type Store interface {
	Lookup(path string) (core.Ref, error)
	Series(ref core.Ref) (core.Series, error)
	CreateBatch(ctx context.Context, specs []core.Spec) ([]core.Created, error)
	Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error
	AddNote(ctx context.Context, key string, n core.Note) error
	Relabel(ctx context.Context, ls []core.PathLabels) ([]error, error)
	SetMetadata(ctx context.Context, ms []core.PathMetadata) ([]error, error)
	Metadata(path string) (core.Metadata, error)
}

// The defaults of StoreOptions.
const (
	DefaultSenderBurst = 200_000
	DefaultSenderRate  = 20_000
)

// StoreOptions says how a StoreSink makes series. The zero value is what production runs.
type StoreOptions struct {
	// Policy decides about new series, until SetPolicy; nil: the protocols do.
	Policy *Policy
	// SenderBurst is how many series a sender may make at once; 0: DefaultSenderBurst, negative: no limit.
	SenderBurst int
	// SenderRate is how many more it may make a minute; 0: DefaultSenderRate.
	SenderRate int
	// Now is the clock of the limit; nil: time.Now.
	Now func() time.Time
	// Logger is told who begins to send, and how many series are made; nil: silent.
	Logger *slog.Logger
}

func (o StoreOptions) withDefaults() StoreOptions {
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

// A StoreSink is the Sink over an engine. All receivers of a server share one, so that
// a sender's limit is one limit.
type StoreSink struct {
	store   Store
	o       StoreOptions
	policy  atomic.Pointer[Policy]
	tickets sync.Pool
	made    atomic.Uint64
	refused [numRefusals]atomic.Uint64
	heard   heard

	mu      sync.Mutex // guards what follows
	senders map[string]*sender
	purged  time.Time // when senders was last searched for some to forget
}

// NewStoreSink returns a Sink over s.
func NewStoreSink(s Store, o StoreOptions) *StoreSink {
	sink := &StoreSink{store: s, o: o.withDefaults(), senders: make(map[string]*sender)}
	sink.policy.Store(o.Policy)
	sink.heard.log, sink.heard.now = sink.o.Logger, sink.o.Now
	return sink
}

// SetPolicy puts p in place of the policy; nil: the protocols decide. What senders may still make stays as it is.
func (s *StoreSink) SetPolicy(p *Policy) { s.policy.Store(p) }

// Policy returns the policy.
func (s *StoreSink) Policy() *Policy { return s.policy.Load() }

// Resolve is Sink's.
func (s *StoreSink) Resolve(ctx context.Context, reqs []Request) error {
	var specs []core.Spec
	var at []int                       // at[i] is the request of specs[i]
	var labels []core.PathLabels       // of series that are there
	var labelled []int                 // labelled[i] is the request of labels[i]
	same := make(map[string]int)       // path of a spec → its request
	repeated := make(map[int]int)      // request → the earlier one of the same path
	granted := make(map[string]int, 1) // sender → series it was let make
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
				labels = append(labels, core.PathLabels{Path: r.Path, Labels: r.labels()})
				labelled = append(labelled, i)
			}
			continue
		}
		if !errors.Is(err, core.ErrNotFound) {
			return fmt.Errorf("look up %q: %w", r.Path, err)
		}
		if !s.take(r.Sender) {
			r.Err = ErrSenderLimit
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
	} else if len(granted) > 0 {
		s.giveBack(granted)
	}
	if err := s.relabel(ctx, reqs, labels, labelled); err != nil {
		return err
	}
	for i, j := range repeated {
		reqs[i].Ref, reqs[i].Definition, reqs[i].Err = reqs[j].Ref, reqs[j].Definition, reqs[j].Err
	}
	return nil
}

// create makes the series of specs and fills in their requests. What was granted and not
// used is given back.
func (s *StoreSink) create(ctx context.Context, reqs []Request, specs []core.Spec, at []int, granted map[string]int) error {
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
		s.giveBack(granted)
		return fmt.Errorf("create %d series: %w", len(specs), err)
	}
	made, last := make(map[string]int, 1), make(map[string]*Request, 1) // by sender
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
	s.giveBack(granted)
	for sender, r := range last {
		s.heard.made(r, made[sender])
	}
	return nil
}

func (s *StoreSink) found(r *Request, ref core.Ref) error {
	series, err := s.store.Series(ref)
	if err != nil {
		return fmt.Errorf("series %q: %w", r.Path, err)
	}
	r.Ref, r.Definition = ref, series.Definition
	return nil
}

func (s *StoreSink) spec(r *Request) (core.Spec, error) {
	d, err := s.Policy().Define(r.Identity, r.Define)
	if err != nil {
		return core.Spec{}, err
	}
	return core.Spec{Path: r.Path, Labels: r.labels(), Definition: d, Start: rra.Seconds(r.Time.Unix() - 1)}, nil
}

// labels returns those that are not empty, as labels can be.
func (r *Request) labels() []core.Label {
	labels := make([]core.Label, 0, len(r.Labels))
	for _, l := range r.Labels {
		if l.Value != "" {
			labels = append(labels, l)
		}
	}
	return labelTexts(labels)
}

// relabel gives series the labels ls, those of the requests at.
func (s *StoreSink) relabel(ctx context.Context, reqs []Request, ls []core.PathLabels, at []int) error {
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

// Describe is Sink's.
func (s *StoreSink) Describe(ctx context.Context, ds []Description) ([]error, error) {
	out := make([]error, len(ds))
	ms := make([]core.PathMetadata, 0, len(ds))
	at := make([]int, 0, len(ds)) // at[i] is the description of ms[i]
	granted := make(map[string]int, 1)
	for i := range ds {
		d := &ds[i]
		known, err := s.known(d.Path)
		switch {
		case err != nil:
			out[i] = err
			continue
		case !known && !s.take(d.Sender):
			out[i] = ErrSenderLimit
			s.refuse(out[i])
			continue
		case !known:
			granted[d.Sender]++
		}
		m := d.PathMetadata
		m.Text = cutText(strings.ToValidUTF8(m.Text, "\uFFFD"))
		m.Attributes = attributes(m.Attributes)
		ms, at = append(ms, m), append(at, i)
	}
	if len(ms) == 0 {
		return out, nil
	}
	errs, err := s.store.SetMetadata(ctx, ms)
	if err != nil {
		s.giveBack(granted)
		return nil, fmt.Errorf("metadata of %d paths: %w", len(ms), err)
	}
	for i, err := range errs {
		if out[at[i]] = err; err != nil {
			s.refuse(err)
		}
	}
	return out, nil
}

// attributes returns attributes as a store keeps them: names as labels have them, values without invalid UTF-8 and zero bytes, in order of
// the names, each once. as stays as it is.
func attributes(as []core.Label) []core.Label {
	good := func(a core.Label) core.Label {
		value := strings.ReplaceAll(strings.ToValidUTF8(a.Value, "\uFFFD"), "\x00", "_")
		return core.Label{Name: LabelText(a.Name), Value: value}
	}
	if !slices.ContainsFunc(as, func(a core.Label) bool { return good(a) != a }) {
		return as
	}
	as = slices.Clone(as)
	for i := range as {
		as[i] = good(as[i])
	}
	slices.SortStableFunc(as, func(a, b core.Label) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(as, func(a, b core.Label) bool { return a.Name == b.Name })
}

// maxText is how many bytes of a text are kept.
const maxText = 4096

// cutText keeps the beginning of a long text.
func cutText(s string) string {
	if len(s) <= maxText {
		return s
	}
	n := maxText - len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// known reports whether a path has metadata or is a series.
func (s *StoreSink) known(path string) (bool, error) {
	m, err := s.store.Metadata(path)
	if err != nil {
		return false, err
	}
	if m.Time != 0 {
		return true, nil
	}
	_, err = s.store.Lookup(path)
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Metadata is Sink's.
func (s *StoreSink) Metadata(_ context.Context, path string) (core.Metadata, error) {
	return s.store.Metadata(path)
}

// Submit is Sink's.
func (s *StoreSink) Submit(ctx context.Context, b *core.Batch) (Pending, error) {
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

// Note is Sink's.
func (s *StoreSink) Note(ctx context.Context, key string, n core.Note) error {
	n.Text, n.Severity = strings.ToValidUTF8(n.Text, "\uFFFD"), strings.ToValidUTF8(n.Severity, "\uFFFD")
	n.Labels = labelTexts(n.Labels)
	return s.store.AddNote(ctx, key, n)
}

// maxSenders bounds the senders that are told apart; those beyond share one allowance.
const maxSenders = 65536

// A sender is an allowance of new series that fills up with time.
type sender struct {
	left float64
	at   time.Time
}

// take takes one new series from the allowance of name.
func (s *StoreSink) take(name string) bool {
	if s.o.SenderBurst < 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.sender(name, s.o.Now())
	if d.left < 1 {
		return false
	}
	d.left--
	return true
}

func (s *StoreSink) giveBack(granted map[string]int) {
	if s.o.SenderBurst < 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	for name, n := range granted {
		if n > 0 {
			d := s.sender(name, now)
			d.left = min(d.left+float64(n), float64(s.o.SenderBurst))
		}
	}
}

// sender returns the allowance of name as of now. s.mu is held.
func (s *StoreSink) sender(name string, now time.Time) *sender {
	d := s.senders[name]
	if d == nil && len(s.senders) >= maxSenders && now.Sub(s.purged) >= time.Second {
		s.purged = now
		for k, d := range s.senders {
			if s.refill(d, now); d.left >= float64(s.o.SenderBurst) {
				delete(s.senders, k) // as good as one never seen
			}
		}
	}
	if d == nil && len(s.senders) >= maxSenders {
		name = ""
		d = s.senders[name]
	}
	if d == nil {
		d = &sender{left: float64(s.o.SenderBurst), at: now}
		s.senders[name] = d
	}
	s.refill(d, now)
	return d
}

func (s *StoreSink) refill(d *sender, now time.Time) {
	if dt := now.Sub(d.at); dt > 0 {
		d.left = min(d.left+dt.Minutes()*float64(s.o.SenderRate), float64(s.o.SenderBurst))
		d.at = now
	}
}
