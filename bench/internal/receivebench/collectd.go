package receivebench

import (
	"encoding/binary"
	"fmt"

	"github.com/rondo-db/rondo/receivers/collectd"
	"github.com/rondo-db/rondo/rra"
)

// A collectdLoad is packets as collectd's network plugin fills them: a host's packets hold its
// series in turn, as many as go into 1452 bytes. They are made once; what moves in them is
// overwritten.
type collectdLoad struct {
	random  random
	packets []collectdPacket
	cells   []cell // of all sources, in order of series
	first   []int  // the first cell of each series, and one more
	stamps  []collectd.Stamp
	timed   []int // series -> the one whose stamp is its own too
	lists   []list
}

// collectdInterval is the seconds between two readings.
const collectdInterval = 10

// The parts of a packet that change from round to round, as they stand on the wire.
const (
	partValues = 0x0006
	partTimeHR = 0x0008
)

type collectdPacket struct {
	bytes      []byte
	times      []timeSite
	samples    int
	from, till int // cells
}

// A timeSite is the place of a time, and the series that begins with this time.
type timeSite struct{ at, series int }

// A cell is a source and where its value stands in its packet.
type cell struct {
	source
	kind kind
	at   int
}

func newCollectdLoad(seed uint64, series int, start int64) load {
	l := &collectdLoad{random: random(seed), lists: host()}
	hosts := (series + hostSeries - 1) / hostSeries
	for h := range hosts {
		l.addHost(h, start)
	}
	l.first = append(l.first, len(l.cells))
	return l
}

// addHost makes the packets of host h. It reads in some order within the interval, its plugins one
// after the other, each list some microseconds after the one before.
func (l *collectdLoad) addHost(h int, start int64) {
	at := collectd.Stamp(start)<<30 + collectd.Stamp(l.random.next()%collectdInterval)<<30
	e := collectd.Encoder{}
	var p collectdPacket
	p.from = len(l.cells)
	for i := range l.lists {
		ls := &l.lists[i]
		if !ls.with {
			at += 2000 + collectd.Stamp(l.random.next()%40_000) // 2 to 40 microseconds
		}
		v := collectd.ValueList{
			Names: collectd.Names{Host: []byte(hostName(h)), Plugin: []byte(ls.plugin), PluginInstance: []byte(ls.pluginInstance), Type: []byte(ls.typ), TypeInstance: []byte(ls.typeInstance)}, Time: at, Interval: collectdInterval << 30,
		}
		l.first = append(l.first, len(l.cells))
		l.stamps = append(l.stamps, at)
		for _, s := range ls.sources {
			c := cell{source: newSource(s.shape, &l.random), kind: s.kind}
			if s.kind == gauge {
				v.AddGauge(c.float())
			} else {
				v.AddDerive(c.v)
			}
			l.cells = append(l.cells, c)
		}
		if !e.Add(&v) {
			p.till = l.first[len(l.first)-1]
			l.finish(p, e.Bytes())
			p = collectdPacket{from: p.till}
			e.Reset()
			e.Add(&v)
		}
		n := len(l.stamps) - 1
		if len(p.times) == 0 || !ls.with {
			p.times = append(p.times, timeSite{series: n})
		}
		l.timed = append(l.timed, p.times[len(p.times)-1].series)
	}
	p.till = len(l.cells)
	l.finish(p, e.Bytes())
}

// finish keeps a packet, and notes where its times and values stand.
func (l *collectdLoad) finish(p collectdPacket, b []byte) {
	p.bytes = append([]byte(nil), b...)
	times, c := 0, p.from
	for off := 0; off < len(b); {
		kind, size := binary.BigEndian.Uint16(b[off:]), int(binary.BigEndian.Uint16(b[off+2:]))
		switch kind {
		case partTimeHR:
			p.times[times].at = off + 4
			times++
		case partValues:
			p.samples++
			n := int(binary.BigEndian.Uint16(b[off+4:]))
			for i := range n {
				l.cells[c].at = off + 6 + n + 8*i
				c++
			}
		}
		off += size
	}
	if times != len(p.times) || c != p.till {
		panic(fmt.Sprintf("packet of %d times and %d values, made of %d and %d", times, c-p.from, len(p.times), p.till-p.from))
	}
	l.packets = append(l.packets, p)
}

func (l *collectdLoad) size() (messages, series, values int) {
	return len(l.packets), len(l.stamps), len(l.cells)
}

func (l *collectdLoad) before() [][]byte { return nil }

func (l *collectdLoad) step(i int) (message []byte, samples, values int) {
	p := &l.packets[i]
	for _, t := range p.times {
		l.stamps[t.series] += collectdInterval << 30
		binary.BigEndian.PutUint64(p.bytes[t.at:], uint64(l.stamps[t.series]))
	}
	cells := l.cells[p.from:p.till]
	for k := range cells {
		c := &cells[k]
		if c.shape != constant {
			c.next(&l.random)
			c.put(p.bytes[c.at:], c.kind)
		}
	}
	return p.bytes, p.samples, p.till - p.from
}

func (l *collectdLoad) series(n int) state {
	ls := &l.lists[n%hostSeries]
	v := collectd.ValueList{
		Names: collectd.Names{Host: []byte(hostName(n / hostSeries)), Plugin: []byte(ls.plugin), PluginInstance: []byte(ls.pluginInstance), Type: []byte(ls.typ), TypeInstance: []byte(ls.typeInstance)},
	}
	s := state{Path: collectd.Identify(&v.Names).Path, At: l.stamps[l.timed[n]].Seconds()}
	for i := l.first[n]; i < l.first[n+1]; i++ {
		s.Readings = append(s.Readings, rra.FormatReading(l.cells[i].reading(l.cells[i].kind), nil))
	}
	return s
}
