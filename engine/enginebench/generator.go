package enginebench

import (
	"fmt"
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// HostSeries is the number of series of one host.
const HostSeries = 100

const (
	step  = 10         // seconds between two readings
	epoch = 1700002800 // the clock of the load begins here, on a whole hour

	// blockSeries is a plugin's worth of series. Every host has five blocks, each in
	// the proportions of the whole: 5 busy counters, 5 constant or idle series,
	// 4 integer gauges, 4 gauges of two decimals, 2 floats of full precision.
	blockSeries = 20
)

// A shape is how the readings of a series move.
type shape uint8

const (
	busyCounter shape = iota
	idleCounter
	constant
	integerGauge
	decimalGauge
	floatGauge
)

var shapes = [blockSeries]shape{
	busyCounter, busyCounter, busyCounter, busyCounter, busyCounter,
	idleCounter, idleCounter, constant, constant, constant,
	integerGauge, integerGauge, integerGauge, integerGauge,
	decimalGauge, decimalGauge, decimalGauge, decimalGauge,
	floatGauge, floatGauge,
}

var shapeNames = [...]string{"counter", "idle", "constant", "integer", "decimal", "float"}

// A Generator makes the readings of all hosts. Different hosts may be stepped
// by different goroutines. It takes 16 bytes a series and 16 a host.
type Generator struct {
	seed  uint64
	hosts []host
	cells []cell // HostSeries a host
}

type host struct {
	rnd   uint64
	phase uint64
}

// A cell is one series: its present reading and what scales its moves.
type cell struct {
	v uint64 // counters: the count; gauges: an int64, or the bits of a double
	p uint64 // counters: mean increment; gauges: widest move; floats: the bits of the mean
}

// NewGenerator returns the load of at least series series, whole hosts, before their first reading.
func NewGenerator(seed uint64, series int) *Generator {
	n := (series + HostSeries - 1) / HostSeries
	g := &Generator{seed: seed, hosts: make([]host, n), cells: make([]cell, n*HostSeries)}
	for h := range g.hosts {
		g.hosts[h] = newHost(seed, h, g.cells[h*HostSeries:][:HostSeries])
	}
	return g
}

// newHostGenerator returns the load of one host of seed alone, as host 0.
func newHostGenerator(seed uint64, h int) *Generator {
	g := &Generator{seed: seed, hosts: make([]host, 1), cells: make([]cell, HostSeries)}
	g.hosts[0] = newHost(seed, h, g.cells)
	return g
}

// Hosts returns the number of hosts.
func (g *Generator) Hosts() int { return len(g.hosts) }

// Phase returns the second of the step, 0 to 9, in which host h reads.
func (g *Generator) Phase(h int) int64 { return int64(g.hosts[h].phase) }

// Start returns the time at which the series of host h are created: a step before their first
// reading.
func (g *Generator) Start(h int) rra.Time { return rra.Seconds(epoch + g.Phase(h)) }

// At returns the time of reading number k (from 0) of host h.
func (g *Generator) At(h, k int) rra.Time {
	return rra.Seconds(epoch + g.Phase(h) + int64(k+1)*step)
}

// newHost draws the phase, the levels and the scales of one host.
func newHost(seed uint64, h int, cells []cell) host {
	x := host{rnd: seed*0x9e3779b97f4a7c15 ^ uint64(h+1)*0xd1342543de82ef95}
	x.phase = x.next() % step
	for i := range cells {
		r := x.next()
		c := &cells[i]
		switch shapes[i%blockSeries] {
		case busyCounter:
			c.p = 1 << (6 + r%15) // 64 to 2^20 a step, 6 to 100,000 a second
			c.p += c.p * (r >> 48) >> 16
			c.v = x.next() >> 24
			if r>>8%16 == 0 {
				c.v += 1 << 55 // a double would round it
			}
		case idleCounter:
			c.v = x.next() >> 40
		case constant:
			c.v = [4]uint64{0, 1, r >> 40, 4096 * (r >> 44)}[r%4]
		case integerGauge:
			c.v = 1 << (5 + r%16)
			c.v += c.v * (r >> 48) >> 16
			c.p = max(1, c.v>>6)
		case decimalGauge:
			c.v = r % 10000
			c.p = 20 << (r >> 32 % 4) // hundredths
		case floatGauge:
			mean := math.Ldexp(1+unit(r), int(r%8)-2)
			c.v, c.p = math.Float64bits(mean), math.Float64bits(mean)
		}
	}
	return x
}

// next draws 64 bits (splitmix64).
func (h *host) next() uint64 {
	h.rnd += 0x9e3779b97f4a7c15
	z := h.rnd
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// unit returns r as a number in [0, 1).
func unit(r uint64) float64 { return float64(r>>11) * 0x1p-53 }

// Next writes the next readings of host h to dst, which has room for HostSeries.
func (g *Generator) Next(h int, dst []rra.Value) {
	x := &g.hosts[h]
	cells := g.cells[h*HostSeries:][:HostSeries]
	dst = dst[:HostSeries]
	for b := 0; b < HostSeries; b += blockSeries {
		nextBlock(x, (*[blockSeries]cell)(cells[b:]), (*[blockSeries]rra.Value)(dst[b:]))
	}
}

// nextBlock steps one block. Its indices are those of shapes.
func nextBlock(x *host, c *[blockSeries]cell, dst *[blockSeries]rra.Value) {
	for i := range 5 { // busy: the mean increment, a quarter up or down
		c[i].v += c[i].p + uint64(int64(c[i].p)*int64(int16(x.next()))>>17)
		dst[i] = rra.Uint(c[i].v)
	}
	for i := 5; i < 7; i++ { // idle: counts up to three, about every ten minutes
		if r := x.next(); r%64 == 0 {
			c[i].v += r >> 6 % 4
		}
		dst[i] = rra.Uint(c[i].v)
	}
	for i := 7; i < 10; i++ {
		dst[i] = rra.Float(float64(int64(c[i].v)))
	}
	for i := 10; i < 14; i++ { // integers: walk
		c[i].v = reflect(int64(c[i].v) + move(x.next(), c[i].p))
		dst[i] = rra.Float(float64(int64(c[i].v)))
	}
	for i := 14; i < 18; i++ { // hundredths: walk
		c[i].v = reflect(int64(c[i].v) + move(x.next(), c[i].p))
		dst[i] = rra.Float(float64(int64(c[i].v)) / 100)
	}
	for i := 18; i < 20; i++ { // full precision: walk about the mean
		v, mean := math.Float64frombits(c[i].v), math.Float64frombits(c[i].p)
		v += float64((mean - v) * 0.2)
		v += float64((unit(x.next()) - 0.5) * mean)
		c[i].v = math.Float64bits(v)
		dst[i] = rra.Float(v)
	}
}

// move returns a number in [-widest, widest], from 16 bits of r.
func move(r, widest uint64) int64 {
	return (int64(widest)*int64(int16(r)) + 1<<14) >> 15
}

// reflect keeps a walk at or above zero.
func reflect(v int64) uint64 {
	if v < 0 {
		v = -v
	}
	return uint64(v)
}

// Spec returns what series i of host h is created from.
func (g *Generator) Spec(h, i int) core.Spec { return newSpec(h, i, g.Start(h)) }

func newSpec(h, i int, start rra.Time) core.Spec {
	sh := shapes[i%blockSeries]
	hostName := fmt.Sprintf("host%06d", h)
	instance := fmt.Sprintf("%s-%02d", shapeNames[sh], i)
	return core.Spec{
		Path:       "bench/" + hostName + "/" + instance,
		Labels:     []core.Label{{Name: "__name__", Value: "bench_" + shapeNames[sh]}, {Name: "host", Value: hostName}, {Name: "instance", Value: instance}},
		Definition: definitions[sh],
		Start:      start,
	}
}

// definitions holds the two definitions of the load, by shape.
var definitions = func() (d [len(shapeNames)]*rra.Definition) {
	counter, gauge := newDefinition(rra.Counter), newDefinition(rra.Gauge)
	for i := range d {
		d[i] = gauge
	}
	d[busyCounter], d[idleCounter] = counter, counter
	return d
}()

// newDefinition keeps an hour of 10 s, a day of 1 min, a week of 10 min and a year of 1 h.
func newDefinition(k rra.Kind) *rra.Definition {
	archive := func(cf rra.CF, pdps, rows int64) rra.Archive {
		return rra.Archive{CF: cf, XFF: 0.5, PDPs: pdps, Rows: rows, Partner: -1}
	}
	return &rra.Definition{
		Step:    step,
		Sources: []rra.DataSource{{Name: "value", Kind: k, Heartbeat: 2 * step, Min: math.NaN(), Max: math.NaN()}},
		Archives: []rra.Archive{
			archive(rra.Average, 1, 360),
			archive(rra.Average, 6, 1440),
			archive(rra.Max, 6, 1440),
			archive(rra.Average, 60, 1008),
			archive(rra.Average, 360, 8760),
		},
	}
}
