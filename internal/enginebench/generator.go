package enginebench

import (
	"math"

	"github.com/rondo-db/rondo/rra"
)

// HostReadings is how many readings a host makes at a time.
const HostReadings = 100

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
// by different goroutines. It takes 16 bytes a reading and 16 a host.
type Generator struct {
	seed        uint64
	layout      Layout
	definitions []*rra.Definition // of the series of a block
	hosts       []host
	cells       []cell // HostReadings a host
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
// The layout must be valid.
func NewGenerator(seed uint64, layout Layout, series int) *Generator {
	n := (series + layout.HostSeries() - 1) / layout.HostSeries()
	g := newGenerator(seed, layout, n)
	for h := range g.hosts {
		g.hosts[h] = newHost(seed, h, g.cells[h*HostReadings:][:HostReadings])
	}
	return g
}

// newHostGenerator returns the load of one host of seed alone, as host 0.
func newHostGenerator(seed uint64, layout Layout, h int) *Generator {
	g := newGenerator(seed, layout, 1)
	g.hosts[0] = newHost(seed, h, g.cells)
	return g
}

func newGenerator(seed uint64, layout Layout, hosts int) *Generator {
	return &Generator{
		seed: seed, layout: layout, definitions: layout.definitions(),
		hosts: make([]host, hosts), cells: make([]cell, hosts*HostReadings),
	}
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

// Next writes the next readings of host h to dst, which has room for HostReadings. The readings of
// one series lie beside each other, in order of its data sources.
func (g *Generator) Next(h int, dst []rra.Value) {
	x := &g.hosts[h]
	cells := g.cells[h*HostReadings:][:HostReadings]
	dst = dst[:HostReadings]
	for b := 0; b < HostReadings; b += blockSeries {
		nextBlock(x, (*[blockSeries]cell)(cells[b:]), (*[blockSeries]rra.Value)(dst[b:]))
	}
}

// nextBlock steps one block. Its indices are the indices of shapes.
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
