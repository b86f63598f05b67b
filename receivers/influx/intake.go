package influx

import (
	"errors"
	"math"
	"sync"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// What the answer to a sender says about values that were not stored.
var (
	errFuture   = errors.New("time is before 1970 or too far ahead")
	errNoSeries = errors.New("series were refused")
	errKind     = errors.New("a series takes whole numbers only")
	errBusy     = errors.New("the store does not keep up")
)

// An intake knows the series. Readers share it.
type intake struct {
	receivers.Counters
	cfg   receivers.Config
	sink  receivers.Sink
	asks  *receivers.Resolver
	step  int64 // of new series, in seconds; 0: it is learned
	lines loglimit.Limit[string]
	// define returns the definition of a new series.
	define func(step int64) *rra.Definition

	mu         sync.Mutex // guards what follows
	cache      *cache
	generation uint64    // how often the cache was emptied
	forgot     time.Time // when forget last emptied the cache
}

func newIntake(cfg receivers.Config, sink receivers.Sink, step int64) *intake {
	return &intake{
		cfg: cfg.WithDefaults(), sink: sink, asks: receivers.NewResolver(sink, cfg, "influx"), step: step, cache: newCache(cacheFields),
		define: func(policy int64) *rra.Definition { return definition(step, policy) },
	}
}

// A source is where lines come from.
type source struct {
	database []byte // that the sender names; empty: none
	unit     Unit   // of times
	sender   string // address
}

// A taker takes samples: a queue, or the batch of a request.
type taker interface {
	Add(ref core.Ref, at rra.Time, values []rra.Value) bool
}

// A reader reads the lines of one sender at a time. Its owner calls begin, Reset of dec, and then
// read and resolve in turn until read is through.
type reader struct {
	*intake
	dec  Decoder
	line Line
	src  source
	out  taker
	room func() bool                 // out has room for a line; nil: always
	bad  func(err error, values int) // gets why a line was not read, or values not stored
	news receivers.Newcomers[fieldKey, newcomer]
	now  time.Time // when the lines at hand were read
	last rra.Time  // the latest time that a line may have
	tick uint32    // of now
	one  [1]rra.Value
}

// begin notes the time.
func (r *reader) begin(now time.Time) {
	r.now, r.last = now, r.cfg.Latest(now)
	r.tick = r.asks.Tick(now)
}

// read reads lines until dec has no more, or newcomers or samples are so many that they must be
// resolved or stored first. It reports whether dec has no more.
func (r *reader) read() (through bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache.full() && r.news.Len() == 0 {
		r.empty()
	}
	for !r.news.Full() && (r.room == nil || r.room()) {
		more, err := r.dec.Next(&r.line)
		switch {
		case err != nil:
			r.refuse(err.(*Error)) // as Next says
		case !more:
			r.Series.Store(int64(r.cache.fields.Len()))
			return true
		default:
			r.take()
		}
	}
	return false
}

// empty forgets all series. r.mu is held.
func (t *intake) empty() {
	t.cache.clear()
	t.generation++
}

// forget forgets all series because the sink has refused one. It does so once a second at most.
func (t *intake) forget(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.forgot).Abs() >= time.Second {
		t.forgot = now
		t.empty()
	}
}

// refuse counts a line that was not read.
func (r *reader) refuse(err *Error) {
	r.Drop(err.Reason, 1)
	r.bad(err, 0)
}

// take takes the values of the line. r.mu is held.
func (r *reader) take() {
	l := &r.line
	key, ok := r.cache.keys.FindAgain(r.src.database, l.Key)
	if !ok {
		if _, err := ParseKey(l.Key); err != nil {
			e, _ := errors.AsType[*receivers.Error](err) // as ParseKey says
			r.refuse(&Error{Reason: e.Reason, What: e.What, Line: receivers.Text(l.Key[:min(len(l.Key), maxQuoted)])})
			return
		}
		key = r.cache.keys.Add(r.src.database, l.Key)
	}
	if !l.Timed {
		l.Time = rra.TimeOf(r.now)
	}
	if l.Time < rra.Seconds(2) || l.Time > r.last {
		r.Drop(receivers.State, uint64(len(l.Fields)))
		r.bad(errFuture, len(l.Fields))
		return
	}
	for i := range l.Fields {
		r.field(key, &l.Fields[i])
	}
}

// field takes the value of one field of the line. r.mu is held.
func (r *reader) field(key uint32, f *Field) {
	i, ok := r.cache.field(key, f.Name)
	e := r.cache.fields.At(i)
	switch {
	case f.Text:
		r.Drop(receivers.Unsupported, 1)
		if !ok {
			r.tellText(f.Name)
		}
	case e.Ref != 0:
		r.add(e.Ref, e.Kind, r.line.Time, f.Value)
	case e.Due(r.tick):
		r.newcomer(i, f.Value)
	default:
		r.Drop(e.Why, 1)
		r.bad(errNoSeries, 1)
	}
}

// add hands a value over as a sample of a series.
func (r *reader) add(ref core.Ref, kind rra.Kind, at rra.Time, v rra.Value) {
	var ok bool
	if r.one[0], ok = convert(kind, v); !ok {
		r.Drop(receivers.State, 1)
		r.bad(errKind, 1)
		return
	}
	if !r.out.Add(ref, at, r.one[:]) {
		r.bad(errBusy, 1)
	}
}

// convert returns v for a data source of a kind. COUNTER and DERIVE take whole numbers only.
func convert(kind rra.Kind, v rra.Value) (out rra.Value, ok bool) {
	if v.Tag != rra.TagFloat {
		return v, true
	}
	return receivers.ReadingFor(kind, math.Float64frombits(v.Bits))
}

// tellText logs the first time that a field comes with a string. r.mu is held.
func (r *reader) tellText(field []byte) {
	name, _ := cut(r.line.Key, ',')
	if ok, held := r.lines.Allow("text "+string(name), r.now); ok {
		r.cfg.Logger.Info("influx: strings are not stored", "measurement", unescape(name), "field", unescape(field), "held_back_lines", held)
	}
}
