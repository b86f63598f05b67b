package hosts

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/search"
	"github.com/rondo-db/rondo/rra"
)

const (
	beats    = 6                // series of a host that show whether it is heard of
	fresh    = 5 * time.Second  // that what was read stays
	idleTime = 10 * time.Minute // without a request, after which all is given up
	anew     = 5 * time.Minute  // after which the series of a host are looked at again
	least    = time.Minute      // that a series may be silent, whatever its step
	maxRated = 20_000           // hosts that are put in order of what they do

	maxSources = 4096 // of a host
)

// What hosts take of the budget of the store, in bytes. It is charged before it is made.
const (
	hostBytes   = 512 // that are known
	sourceBytes = 192 // of them, with what reads one
	rowBytes    = 512 // of a request
)

// A Board knows how the hosts of a store do. Its methods may be called at the same time; they take
// turns.
type Board struct {
	Store core.Engine
	Index *search.Index

	once  sync.Once
	turn  chan struct{} // holds one message while somebody uses what follows
	known map[string]*known
	share *core.MemoryShare
	timer *time.Timer
}

// A known is what is known of a host.
type known struct {
	series  int64
	looked  time.Time
	beats   []beat
	sources []source
	spark   *search.Spark
	pin     string
	pinned  *search.Spark
	pinRef  core.Ref
	at      time.Time // when beats were read
	read    time.Time // when sources were
	figures [allCells]float64
}

// A beat is a series that shows whether its host is heard of.
type beat struct {
	ref  core.Ref
	step time.Duration
	last time.Time
}

// quiet returns how long a series may be silent.
func quiet(step time.Duration) time.Duration { return max(4*step, least) }

// A source is a data source that says something about its host.
type source struct {
	beat

	sign        *sign
	sender, key string
	archive, ds int
	span        int64 // of a row of archive, in seconds
	value       float64
}

// enter waits for its turn. The caller calls leave.
func (b *Board) enter(ctx context.Context) error {
	b.once.Do(func() {
		b.turn, b.share = make(chan struct{}, 1), core.ShareOf(b.Store)
		b.timer = time.AfterFunc(idleTime, b.forget)
	})
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	b.timer.Reset(idleTime)
	if b.known == nil {
		b.known = make(map[string]*known)
	}
	return nil
}

func (b *Board) leave() { <-b.turn }

// forget gives all memory up.
func (b *Board) forget() {
	b.turn <- struct{}{}
	b.known = nil
	_ = b.share.Resize(0) // giving back does not fail
	b.leave()
}

// look finds what the series of hosts are good for, where that is not known.
func (b *Board) look(ctx context.Context, all []*Row, within []string, now time.Time) error {
	var unread []*known
	size := int64(-1)
	for _, r := range all {
		key := r.Name + "\x00" + strings.Join(within, "\x00")
		k := b.known[key]
		if k == nil || k.series != r.Series || now.Sub(k.looked) > anew {
			if size < 0 {
				size = b.size()
			}
			if err := b.share.Resize(size + hostBytes + sourceBytes*min(r.Series, maxSources)); err != nil {
				return err
			}
			k = &known{series: r.Series, looked: now}
			if err := b.members(ctx, r, within, k); err != nil {
				return err
			}
			size += hostBytes + sourceBytes*int64(len(k.sources))
			b.known[key] = k
			unread = append(unread, k)
		}
		r.known = k
	}
	if len(unread) == 0 {
		return nil
	}
	if err := b.define(ctx, unread); err != nil {
		return err
	}
	size = b.size()
	if len(b.known) > 2*len(all)+1000 { // of hosts that are gone, or of many users
		b.known = make(map[string]*known)
	}
	return b.share.Resize(size)
}

// size returns how much memory is taken by what is known.
func (b *Board) size() (size int64) {
	for _, k := range b.known {
		size += hostBytes + sourceBytes*int64(len(k.sources))
	}
	return size
}

// members chooses the series of a host that are read.
func (b *Board) members(ctx context.Context, r *Row, within []string, k *known) error {
	every, n := max(r.Series/beats, 1), int64(0)
	err := b.Index.Members(ctx, r.Name, within, func(m search.Member) bool {
		if n%every == 0 && len(k.beats) < beats {
			k.beats = append(k.beats, beat{ref: m.Ref})
		}
		n++
		signsOf(m.Path, func(sender string, s *sign, key string) {
			k.sources = append(k.sources, source{beat: beat{ref: m.Ref}, sign: s, sender: sender, key: strings.Clone(key)})
		})
		return len(k.sources) < maxSources
	})
	if errors.Is(err, search.ErrHost) { // its last series is gone
		return nil
	}
	return err
}

// define takes what is needed of the definitions.
func (b *Board) define(ctx context.Context, all []*known) error {
	var refs []core.Ref
	var found []func(*rra.Definition)
	for _, k := range all {
		for i := range k.beats {
			refs = append(refs, k.beats[i].ref)
			found = append(found, func(d *rra.Definition) { k.beats[i].step = time.Duration(d.Step) * time.Second })
		}
		for i := range k.sources {
			refs = append(refs, k.sources[i].ref)
			found = append(found, k.sources[i].define)
		}
	}
	err := b.Store.Resolve(ctx, refs, func(i int, x core.Series) bool {
		if x.Definition != nil {
			found[i](x.Definition)
		}
		return true
	})
	if errors.Is(err, core.ErrDamaged) {
		err = nil
	}
	for _, k := range all {
		k.sources = slices.DeleteFunc(k.sources, func(s source) bool { return s.span == 0 })
	}
	return err
}

// define takes what is needed of a definition: the archive whose rows are the finest.
func (s *source) define(d *rra.Definition) {
	for i := range d.Sources {
		if d.Sources[i].Name == s.sign.ds {
			s.ds = i
		}
	}
	if s.sign.rate && d.Sources[s.ds].Kind == rra.Gauge {
		return
	}
	s.step = time.Duration(d.Step) * time.Second
	for i := range d.Archives {
		a := &d.Archives[i]
		if span := a.PDPs * d.Step; a.CF <= rra.Last && (s.span == 0 || span < s.span) {
			s.archive, s.span = i, span
		}
	}
}

// listen reads when hosts were heard of, where that is not known to be just now.
func (b *Board) listen(ctx context.Context, all []*Row, now time.Time) error {
	var refs []core.Ref
	var beats []*beat
	for _, r := range all {
		if k := r.known; now.Sub(k.at).Abs() >= fresh {
			for i := range k.beats {
				refs, beats = append(refs, k.beats[i].ref), append(beats, &k.beats[i])
			}
		}
	}
	times, err := b.Store.Lasts(ctx, refs)
	if err != nil {
		return err
	}
	for i, t := range times {
		if t.There && t.Time > 0 {
			beats[i].last = t.Time.Std()
		}
	}
	for _, r := range all {
		if now.Sub(r.known.at).Abs() >= fresh {
			r.known.at = now
		}
		silent := true
		for _, x := range r.known.beats {
			if x.last.After(r.Last) {
				r.Last = x.last
			}
			silent = silent && now.Sub(x.last) > quiet(x.step)
		}
		r.Silent = silent && !r.Last.IsZero()
	}
	return nil
}

// measure reads the figures of hosts, where they are not of just now.
func (b *Board) measure(ctx context.Context, all []*Row, now time.Time) error {
	var wanted []*source
	for _, r := range all {
		if k := r.known; now.Sub(k.read).Abs() >= fresh {
			for i := range k.sources {
				k.sources[i].value = math.NaN()
				wanted = append(wanted, &k.sources[i])
			}
		}
	}
	if err := b.read(ctx, wanted, now); err != nil {
		return err
	}
	for _, r := range all {
		k := r.known
		if now.Sub(k.read).Abs() >= fresh {
			k.read, k.figures = now, figuresOf(k.sources)
		}
		pin := r.Figures[Pin]
		r.Figures = k.figures
		r.Figures[Pin] = pin
	}
	return nil
}

// figuresOf puts together what is said about a host: of each figure what the first sender says that
// says something.
func figuresOf(sources []source) (out [allCells]float64) {
	tallies := make(map[string]*tally)
	for i := range sources {
		s := &sources[i]
		t := tallies[s.sender]
		if t == nil {
			t = new(tally)
			tallies[s.sender] = t
		}
		t.add(s.sign.role, s.key, s.value*max(s.sign.factor, 1))
	}
	for i := range out {
		out[i] = math.NaN()
	}
	for _, sender := range []string{"collectd", "prometheus", "otlp", "ganglia"} {
		if t := tallies[sender]; t != nil {
			for i, v := range t.figures(sender) {
				if math.IsNaN(out[i]) {
					out[i] = v
				}
			}
		}
	}
	return out
}

// read reads the newest values of data sources: of the step under way, or of the last row. What is
// older than silence is, is not known.
func (b *Board) read(ctx context.Context, all []*source, now time.Time) error {
	spans := make([]core.Span, len(all))
	for i, s := range all {
		spans[i] = core.Span{Ref: s.ref, Archive: core.OpenRow}
	}
	for len(all) > 0 {
		var next []*source
		var rest []core.Span
		err := b.Store.FetchMany(ctx, spans, func(i int, rows *core.Rows, err error) {
			s := all[i]
			if err != nil || s.ds >= len(rows.DS) {
				return
			}
			for at := s.ds; at < len(rows.Values); at += len(rows.DS) {
				if v := rows.Values[at]; !math.IsNaN(v) {
					s.value = v
				}
			}
			if spans[i].Archive != core.OpenRow {
				return
			}
			if now.Sub(time.Unix(rows.End, 0)) > quiet(s.step) {
				s.value = math.NaN()
			} else if math.IsNaN(s.value) {
				to := rows.End - rows.End%s.span
				next, rest = append(next, s), append(rest, core.Span{Ref: s.ref, Archive: s.archive, Start: max(to-2*s.span, 0), End: to})
			}
		})
		if err := unread(err); err != nil {
			return err
		}
		all, spans = next, rest
	}
	return ctx.Err()
}

// unread returns an error of a fetch, unless it says that some series has no such rows.
func unread(err error) error {
	for _, none := range []error{core.ErrNotFound, core.ErrDamaged, core.ErrInvalid} {
		if errors.Is(err, none) {
			return nil
		}
	}
	return err
}
