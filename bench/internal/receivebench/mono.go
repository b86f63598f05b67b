package receivebench

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rondo-db/rondo/receivers/mono"
	"github.com/rondo-db/rondo/rra"
)

// monoInterval is the seconds between two samples: the receiver's step.
const monoInterval = 1

// A monoLoad is agents of 100 counters each, one connection an agent: hello, and then samples of
// what has changed.
type monoLoad struct {
	random random
	agents []monoAgent
}

type monoAgent struct {
	counters []monoCounter
	at       rra.Time // of the last sample
	buf      []byte
}

type monoCounter struct {
	mono.Counter
	source
	sent uint64
	has  bool // been sent
}

// newMonoLoad returns agents whose samples are of whole seconds.
func newMonoLoad(seed uint64, series int, start int64) load {
	l := &monoLoad{random: random(seed)}
	for range (series + hostSeries - 1) / hostSeries {
		a := monoAgent{at: rra.Seconds(start)}
		for n := range hostSeries {
			c := monoCounter{Counter: mono.Counter{Category: mono.Category(n % 9), Name: fmt.Sprintf("counter %d", n), Index: int16(n)}}
			switch n % 5 {
			case 0, 1:
				c.Type, c.Unit, c.Variance = mono.Long, mono.Bytes, mono.Monotonic
				c.source = newSource(busy, &l.random)
			case 2:
				c.Type, c.Unit, c.Variance = mono.Int, mono.Events, mono.Variable
				c.source = newSource(whole, &l.random)
			case 3:
				c.Type, c.Unit, c.Variance = mono.Double, mono.Percentage, mono.Variable
				c.source = newSource(decimal, &l.random)
			default:
				c.Type, c.Unit, c.Variance = mono.Word, mono.Config, mono.Constant
				c.source = newSource(constant, &l.random)
			}
			a.counters = append(a.counters, c)
		}
		l.agents = append(l.agents, a)
	}
	return l
}

func (l *monoLoad) size() (messages, series, values int) {
	n := len(l.agents)
	return n, n * hostSeries, n * hostSeries
}

func (l *monoLoad) before() [][]byte {
	var out [][]byte
	for i := range l.agents {
		var counters []mono.Counter
		for _, c := range l.agents[i].counters {
			counters = append(counters, c.Counter)
		}
		b, err := mono.AppendHello(nil, counters)
		if err != nil {
			panic(fmt.Sprintf("hello of agent %d: %v", i, err)) // a test makes one
		}
		out = append(out, b)
	}
	return out
}

// step makes the next sample of an agent. All its counters are stored then, whether they have
// changed or not.
func (l *monoLoad) step(i int) (message []byte, samples, values int) {
	a := &l.agents[i]
	a.at += rra.Seconds(monoInterval)
	b := append(a.buf[:0], monoSample)
	b = binary.LittleEndian.AppendUint64(b, uint64(mono.Ticks(a.at)))
	for k := range a.counters {
		c := &a.counters[k]
		c.next(&l.random)
		v := c.bits()
		if c.has && v == c.sent {
			continue
		}
		c.sent, c.has = v, true
		b = binary.LittleEndian.AppendUint16(b, uint16(c.Index))
		if c.Type == mono.Int {
			b = binary.LittleEndian.AppendUint16(b, 4)
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
			continue
		}
		b = binary.LittleEndian.AppendUint16(b, 8)
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	a.buf = binary.LittleEndian.AppendUint16(b, monoEnd)
	return a.buf, len(a.counters), len(a.counters)
}

// What a sample begins and ends with, on the wire.
const (
	monoSample = 4
	monoEnd    = 0xffff
)

// bits returns the value as it is sent.
func (c *monoCounter) bits() uint64 {
	if c.Type == mono.Double {
		return math.Float64bits(c.float())
	}
	return uint64(c.v)
}

func (l *monoLoad) series(n int) state {
	a := &l.agents[n/hostSeries]
	c := &a.counters[n%hostSeries]
	v := rra.Int(int64(c.sent))
	if c.Type == mono.Double {
		v = rra.Float(math.Float64frombits(c.sent))
	}
	return state{
		Path: mono.Identify(hostAddress(n/hostSeries), &c.Counter).Path, At: a.at.Unix(),
		Readings: []string{rra.FormatReading(v, nil)},
	}
}
