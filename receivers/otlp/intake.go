package otlp

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"math"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/resets"
	"github.com/rondo-db/rondo/rra"
)

// An intake knows the series. All requests share it.
type intake struct {
	receivers.Counters
	cfg  receivers.Config
	sink receivers.Sink
	asks *receivers.Resolver
	step int64 // of new series, in seconds; 0: learned
	// define returns the definition of a new series, by mode. A step of 0 is the flag's or a guess.
	define [modes]func(step int64) *rra.Definition
	seeds  [2]maphash.Seed
	lines  loglimit.Limit[string]

	mu         sync.Mutex // guards what follows
	series     map[key]*series
	generation uint64    // how often series was emptied
	forgot     time.Time // when forget last emptied series
}

// maxSeries is how many series are remembered. Beyond it all are forgotten, and resolved again.
const maxSeries = 1 << 20

// A key is a hash of all that names a series, as sent. It has 128 bits and a secret, so that nobody
// can make two series have one.
type key [2]uint64

// A series is where the values of a key go.
type series struct {
	receivers.Series
	def  *rra.Definition
	last resets.Counter // the last value that was handed over
}

func newIntake(cfg receivers.Config, sink receivers.Sink, step int64) *intake {
	t := &intake{
		cfg: cfg.WithDefaults(), sink: sink, asks: receivers.NewResolver(sink, cfg, "otlp"), step: step, series: make(map[key]*series),
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
	for m := range modes {
		t.define[m] = receivers.ByStep(func(own int64) *rra.Definition { return define(m, cmp.Or(own, step)) })
	}
	return t
}

// empty forgets all series. t.mu is held.
func (t *intake) empty() {
	clear(t.series)
	t.generation++
	t.Series.Store(0)
}

// forget forgets all series because the sink has refused one, or has failed: what was handed over
// may not be what is stored. If often is false, it does so once a second at most.
func (t *intake) forget(now time.Time, often bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if often || now.Sub(t.forgot).Abs() >= time.Second {
		t.forgot = now
		t.empty()
	}
}

// appendMetric appends all that names the metric of a value, as sent.
func (d *decoder) appendMetric(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(d.resource)))
	dst = append(dst, d.resource...)
	dst = binary.AppendUvarint(dst, uint64(len(d.name)))
	dst = append(dst, d.name...)
	dst = append(dst, byte(d.typ), byte(d.mode))
	return append(dst, d.unit...)
}

// appendKey appends all that names the series of a value, as sent, if metric names its metric.
func (d *decoder) appendKey(dst []byte, metric key, p *part) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, metric[0])
	dst = binary.LittleEndian.AppendUint64(dst, metric[1])
	dst = append(dst, byte(len(p.suffix)), byte(len(p.label)))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(p.bound))
	return append(dst, d.point.attrs...)
}

// keyOf returns the key of what appendMetric or appendKey has returned.
func (t *intake) keyOf(b []byte) key {
	return key{maphash.Bytes(t.seeds[0], b), maphash.Bytes(t.seeds[1], b)}
}
