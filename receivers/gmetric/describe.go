package gmetric

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

const (
	maxTexts     = 1 << 16  // metrics whose metadata is in memory as text
	maxTextBytes = 64 << 20 // in all of them
	describeRoom = 4096     // paths that may wait in the queue
	describeMany = 1024     // that are not left until the next tick
	// seconds after which a text that stays the same is handed over again, or half of dmax
	refreshText   = 60
	evictionTries = 8
)

// texts holds the metadata of metrics as text: until it has been handed over to be stored and the
// series is made, and of metrics that are texts themselves as long as there is room. The rest is in
// the store.
type texts struct {
	byEntry map[uint32]*described
	bytes   int      // that these take
	dirty   []uint32 // of which something is to be handed over
}

// described is one metric.
type described struct {
	metric
	words  []byte // the newest text
	sender string
	at     rra.Time

	fresh   bool // the store has not been asked yet whether it has the same
	lost    bool // the store does not have it any more
	store   bool // it is to be stored
	relabel bool // so are the labels of its series, once there is one
	listed  bool // in dirty

	weight int // what is counted in texts.bytes
}

// describedBytes is about what a metric takes beside its texts.
const describedBytes = 512

// weigh counts d anew, which is in byEntry and has changed.
func (t *texts) weigh(d *described) {
	n := describedBytes + len(d.typ) + len(d.units) + len(d.group) + len(d.title) + len(d.description) + len(d.cluster) + len(d.ip) + cap(d.words)
	for _, l := range d.extra {
		n += len(l.Name) + len(l.Value) + 32
	}
	t.bytes += n - d.weight
	d.weight = n
}

// remove forgets entry i.
func (t *texts) remove(i uint32) {
	if d := t.byEntry[i]; d != nil {
		t.bytes -= d.weight
		d.weight = 0
		delete(t.byEntry, i)
	}
}

func (t *texts) init() { *t = texts{byEntry: make(map[uint32]*described)} }

// describe takes what m says about a metric.
func (s *server) describe(e *entry, i uint32, m *Message) {
	sum := m.sum(s.cache.seed)
	if e.meta == sum && e.is(known) {
		return
	}
	md, left := metricOf(m)
	if left > 0 {
		s.Drop(receivers.Limit, uint64(left))
	}
	if s.same(e, i, &md) || s.setMetric(e, i, md, string(s.sender.host())) {
		e.meta = sum
	}
	s.unhold(i)
}

// same reports whether md, the first metadata of a metric that has come since the start, is what
// the store has.
func (s *server) same(e *entry, i uint32, md *metric) bool {
	if e.meta != 0 || !e.is(known) || !e.is(asked) {
		return false
	}
	ctx, cancel := receivers.Asking(context.Background())
	defer cancel()
	t, err := s.texts.of(ctx, s, i)
	if err != nil || t.lost || !slices.Equal(t.attributes(s.set.remove), md.attributes(s.set.remove)) {
		return false
	}
	if e.ref != 0 && !t.listed {
		s.texts.drop(i, t)
	}
	return true
}

// setMetric gives a metric new metadata, and reports whether there was room to keep it.
func (s *server) setMetric(e *entry, i uint32, md metric, sender string) bool {
	t := s.texts.byEntry[i]
	if t == nil {
		if t = s.texts.put(i); t == nil {
			s.Drop(receivers.Overload, 1)
			return false
		}
		e.text = 0 // the newest text is to come with it
	}
	e.typ, e.dmax = ParseType(md.typ), md.dmax
	e.flags = e.flags&^gone | known
	e.meta = 0
	e.wait = 0 // what kept it from becoming a series may be past
	if e.seen == 0 {
		e.seen = s.second
	}
	t.metric, t.sender, t.at, t.relabel, t.lost = md, sender, s.at, true, false
	s.texts.weigh(t)
	if !e.is(asked) {
		t.fresh = true
		s.news.ask(i) // it may be what the store has
		return true
	}
	t.store = true
	s.texts.list(i, t)
	return true
}

// put makes room for entry i; nil: there is none.
func (t *texts) put(i uint32) *described {
	if t.full() {
		tries := 0
		for j, d := range t.byEntry { // begins anywhere
			if tries++; tries > evictionTries {
				break
			}
			if !d.listed && !d.fresh {
				t.remove(j)
			}
			if !t.full() {
				break
			}
		}
		if t.full() {
			return nil
		}
	}
	d := new(described)
	t.byEntry[i] = d
	t.weigh(d)
	return d
}

func (t *texts) full() bool { return len(t.byEntry) >= maxTexts || t.bytes >= maxTextBytes }

// keep puts d, which is to be handed over, under the number that its entry has from now on.
func (t *texts) keep(i uint32, d *described) {
	t.byEntry[i] = d
	t.bytes += d.weight
	if d.listed {
		t.dirty = append(t.dirty, i)
	}
}

func (t *texts) list(i uint32, d *described) {
	if !d.listed {
		d.listed = true
		t.dirty = append(t.dirty, i)
	}
}

// of returns the metadata of a metric that is known.
func (t *texts) of(ctx context.Context, s *server, i uint32) (*described, error) {
	if d := t.byEntry[i]; d != nil {
		return d, nil
	}
	host, name := s.cache.key(i)
	stored, err := s.sink.Metadata(ctx, path(host, name))
	if err != nil {
		return nil, err
	}
	d := t.put(i)
	if d == nil {
		d = new(described) // for this once
	}
	md, ok := parseAttributes(stored.Attributes)
	d.metric, d.lost = md, !ok || stored.Expired
	d.words, d.at = []byte(stored.Text), stored.Time
	if t.byEntry[i] == d {
		t.weigh(d)
	}
	return d, nil
}

// settled is told that entry i has become a series.
func (t *texts) settled(i uint32) {
	d := t.byEntry[i]
	switch {
	case d == nil:
	case d.relabel:
		t.list(i, d)
	case !d.store:
		t.drop(i, d)
	}
}

// drop forgets the metadata of a series: numbers need none of it.
func (t *texts) drop(i uint32, d *described) {
	if typ := ParseType(d.typ); typ != String && typ != Unknown {
		t.remove(i)
	}
}

// ask asks the store for the metadata of entries that are new.
func (s *server) ask(ctx context.Context) error {
	asks := s.news.asks
	for n, i := range asks {
		e := &s.cache.entries[i]
		if e.is(asked) {
			continue
		}
		host, name := s.cache.key(i)
		stored, err := s.sink.Metadata(ctx, path(host, name))
		if err != nil {
			s.news.asks = append(asks[:0], asks[n:]...) // once more, later
			return err
		}
		e.flags |= asked
		s.answer(e, i, &stored)
	}
	s.news.asks = asks[:0]
	return nil
}

// answer brings what the store has of a metric and what was sent since the start together.
func (s *server) answer(e *entry, i uint32, stored *core.Metadata) {
	md, ok := parseAttributes(stored.Attributes)
	ok = ok && !stored.Expired
	t := s.texts.byEntry[i]
	if e.is(known) {
		if t == nil {
			return // there was no room
		}
		t.fresh = false
		if !ok || stored.Expire != int64(t.dmax) || !slices.Equal(stored.Attributes, t.attributes(s.set.remove)) {
			t.store = true
			s.texts.list(i, t)
		} else {
			t.relabel = false
		}
	} else if ok {
		if t = s.texts.put(i); t != nil {
			t.metric, t.at = md, stored.Time
			s.texts.weigh(t)
			if !slices.Equal(stored.Attributes, t.attributes(s.set.remove)) {
				t.store = true // another --gmetric-expire
				s.texts.list(i, t)
			}
		}
		e.flags |= known
		e.typ, e.dmax, e.seen = ParseType(md.typ), md.dmax, s.second
	}
	if t != nil && stored.Text != "" {
		t.words = append(t.words[:0], stored.Text...)
		s.texts.weigh(t)
		e.text = maphash.Bytes(s.cache.seed, t.words)
		if age, most := s.now.Unix()-stored.Time.Unix(), int64(e.refresh()); age >= 0 && age < most {
			e.due = s.second + uint32(most-age)
		}
	}
}

// refresh is after how many seconds a text is stored though it is the same, so that its time tells
// that it still comes.
func (e *entry) refresh() uint32 {
	if e.dmax == 0 {
		return refreshText
	}
	return min(refreshText, max(e.dmax/2, 1))
}

// text keeps r as the newest text of a metric.
func (s *server) text(e *entry, i uint32, r *reading) {
	words := r.text
	if !r.textual() {
		s.digits = appendNumber(s.digits[:0], r.number)
		words = s.digits
	}
	h := maphash.Bytes(s.cache.seed, words)
	if h == e.text && s.second < e.due {
		return
	}
	if t := s.touch(e, i, r.at); t != nil {
		t.words = append(t.words[:0], words...)
		s.texts.weigh(t)
		e.text = h
	}
}

// beat notes that a host lives.
func (s *server) beat(e *entry, i uint32) {
	if s.second >= e.due {
		s.touch(e, i, s.at)
	}
}

// touch has what is known of a metric stored again as of now. It returns nil if there is no room.
func (s *server) touch(e *entry, i uint32, at rra.Time) *described {
	ctx, cancel := receivers.Asking(context.Background())
	defer cancel()
	t, err := s.texts.of(ctx, s, i)
	if err != nil {
		s.Drop(receivers.FailureReason(err), 1)
		return nil
	}
	if s.texts.byEntry[i] != t {
		s.Drop(receivers.Overload, 1)
		return nil
	}
	if t.sender == "" {
		t.sender = string(s.sender.host())
	}
	if t.lost {
		e.flags &^= known
		e.meta = 0
	}
	t.at, t.store = at, true
	s.texts.list(i, t)
	e.due = s.second + e.refresh()
	return t
}

// expire forgets the metadata of a metric that has been silent for its dmax.
func (s *server) expire(e *entry, i uint32) {
	s.texts.remove(i)
	if s.set.remove && e.ref != 0 {
		e.ref = 0 // the store has deleted it, or is about to
		s.news.refs--
	}
	e.flags = e.flags&^known | asked | gone
	e.meta, e.text, e.dmax, e.due, e.seen = 0, 0, 0, 0, 0
}

// flush hands over what is to be stored of paths, as far as there is room for it; with force all of
// it.
func (t *texts) flush(s *server, force bool) {
	room := describeRoom - s.queue.Describing()
	n := 0
	for ; n < len(t.dirty) && (room > 0 || force); n++ {
		i := t.dirty[n]
		d := t.byEntry[i]
		if d == nil || !d.listed {
			continue // it has expired, and may have come back
		}
		e := &s.cache.entries[i]
		if d.store {
			s.put(e, i, d)
			room--
		}
		if d.relabel && e.ref != 0 {
			host, name := s.cache.key(i)
			if !s.labels.put(host, name, d, s.set.step) && !force {
				break
			}
			d.relabel = false
		}
		d.listed = false
		if e.ref != 0 && !d.relabel {
			t.drop(i, d)
		}
	}
	t.dirty = append(t.dirty[:0], t.dirty[n:]...)
}

// put hands over what is to be stored of one path.
func (s *server) put(e *entry, i uint32, d *described) {
	d.store = false
	host, name := s.cache.key(i)
	x := receivers.Description{Sender: d.sender, PathMetadata: core.PathMetadata{
		Path: path(host, name),
		Metadata: core.Metadata{
			Time: d.at, Text: text(d.words), Expire: int64(d.dmax),
		},
	}}
	if e.is(known) {
		x.Attributes = d.attributes(s.set.remove)
	}
	if !s.queue.Describe(x) {
		e.meta, e.text, e.due = 0, 0, 0 // what comes next is handed over again
	}
}

// A relabeler gives series other labels, beside the loop that reads: each is a wait of its own.
type relabeler struct {
	sink receivers.Sink
	cfg  receivers.Config
	jobs chan receivers.Request // when it is full, what changes labels waits in texts
	done chan struct{}
	quit context.CancelFunc
}

const (
	queuedLabels  = 1024
	labelsTimeout = 10 * time.Second
)

func newRelabeler(sink receivers.Sink, cfg receivers.Config) *relabeler {
	return &relabeler{sink: sink, cfg: cfg, jobs: make(chan receivers.Request, queuedLabels), done: make(chan struct{})}
}

func (l *relabeler) start() {
	ctx, quit := context.WithCancel(context.Background())
	l.quit = quit
	go func() {
		defer close(l.done)
		var lines loglimit.Limit[string]
		for r := range l.jobs {
			if ctx.Err() != nil {
				continue
			}
			reqs := []receivers.Request{r}
			one, cancel := context.WithTimeout(ctx, labelsTimeout)
			err := l.sink.Resolve(one, reqs)
			cancel()
			if err == nil {
				err = reqs[0].Err
			}
			if err == nil {
				continue
			}
			if ok, held := lines.Allow("labels", l.cfg.Now()); ok {
				l.cfg.Logger.Warn("gmetric: labels not changed", "series", r.Path, "err", err, "held_back_lines", held)
			}
		}
	}()
}

// put has the series of d labelled, and reports whether there was room.
func (l *relabeler) put(host, name []byte, d *described, step int64) bool {
	if len(l.jobs) == cap(l.jobs) {
		return false // nothing else fills it
	}
	md := d.metric
	l.jobs <- receivers.Request{
		Identity: identify(host, name, &md), Sender: d.sender, Time: d.at, Relabel: true,
		Define: func(own int64) *rra.Definition { return md.define(cmp.Or(own, step)) },
	}
	return true
}

// stop waits until what was put is done, for Config.Grace at most.
func (l *relabeler) stop() {
	close(l.jobs)
	t := time.AfterFunc(l.cfg.Grace, l.quit)
	<-l.done
	t.Stop()
	l.quit()
}
