package receivebench

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rondo-db/rondo/receivers/gmetric"
	"github.com/rondo-db/rondo/rra"
)

// A gmetricLoad is datagrams of Ganglia 3.1 and later, hosts in turn: metadata of all metrics once
// and then values, as gmond sends them, or both of each metric, one after the other, as the gmetric
// command does.
type gmetricLoad struct {
	random  random
	meta    [][]byte // of all metrics
	values  [][]byte
	metrics []gmetricMetric
	both    bool
}

type gmetricMetric struct {
	host, name string
	word       gmetric.Word
	source
}

// gmetricInterval is the seconds between two readings: gmetad's step.
const gmetricInterval = 15

// gmetricMost is the size to which datagrams are padded where they must all have one.
const gmetricMost = 256

// gmetricHost is the metrics of one host: what gmond measures itself, and then what its modules do
// of processors and disks.
func gmetricHost(h int) (ms []gmetricMetric) {
	add := func(name string, word gmetric.Word, s shape) {
		ms = append(ms, gmetricMetric{host: hostName(h), name: name, word: word, source: source{shape: s}})
	}
	for _, name := range []string{
		"cpu_user", "cpu_system", "cpu_idle", "cpu_nice", "cpu_wio", "cpu_steal", "load_one", "load_five", "load_fifteen",
		"bytes_in", "bytes_out", "pkts_in", "pkts_out", "part_max_used",
	} {
		add(name, gmetric.WordFloat, decimal)
	}
	for _, name := range []string{"mem_total", "mem_free", "mem_shared", "mem_buffers", "mem_cached", "swap_total", "swap_free"} {
		s := whole
		if name == "mem_total" || name == "swap_total" {
			s = constant
		}
		add(name, gmetric.WordFloat, s)
	}
	for _, name := range []string{"disk_total", "disk_free"} {
		add(name, gmetric.WordDouble, fine)
	}
	for _, name := range []string{"proc_run", "proc_total", "cpu_num", "cpu_speed", "boottime"} {
		s := constant
		if name == "proc_run" || name == "proc_total" {
			s = whole
		}
		add(name, gmetric.WordUint, s)
	}
	for cpu := range 4 {
		for _, name := range []string{"user", "nice", "system", "idle", "wio", "intr", "sintr", "steal"} {
			add(fmt.Sprintf("multicpu_%s%d", name, cpu), gmetric.WordFloat, decimal)
		}
	}
	for disk := 'a'; len(ms) < hostSeries-4; disk++ {
		for _, name := range []string{"reads", "writes", "read_kbytes", "write_kbytes"} {
			add(fmt.Sprintf("diskstat_sd%c_%s", disk, name), gmetric.WordUint, busy)
		}
	}
	for n := 0; len(ms) < hostSeries; n++ {
		add(fmt.Sprintf("temp_%d", n), gmetric.WordDouble, fine)
	}
	return ms
}

func newGmetricLoad(seed uint64, series int, both bool) load {
	l := &gmetricLoad{random: random(seed), both: both}
	for h := range (series + hostSeries - 1) / hostSeries {
		for _, m := range gmetricHost(h) {
			m.source = newSource(m.shape, &l.random)
			l.metrics = append(l.metrics, m)
			l.meta = append(l.meta, m.message(gmetric.WordMetadata))
			l.values = append(l.values, m.message(m.word))
		}
	}
	return l
}

// message makes the first message of the metric, of metadata or value.
func (m *gmetricMetric) message(word gmetric.Word) []byte {
	msg := gmetric.Message{Word: word, Host: []byte(m.host), Name: []byte(m.name)}
	switch word {
	case gmetric.WordMetadata:
		msg.Type, msg.Name2, msg.Units = []byte("float"), msg.Name, []byte("units")
		msg.Slope, msg.TMax = gmetric.Both, 60
		msg.Extra = []gmetric.Pair{
			{Key: []byte("GROUP"), Value: []byte("bench")},
			{Key: []byte("TITLE"), Value: msg.Name},
			{Key: []byte("DESC"), Value: []byte("a made-up metric")},
		}
		switch {
		case m.word == gmetric.WordUint:
			msg.Type = []byte("uint32")
			if m.shape == busy {
				msg.Slope = gmetric.Positive
			}
		case m.word == gmetric.WordDouble:
			msg.Type = []byte("double")
		}
	case gmetric.WordUint:
		msg.Format, msg.Number = []byte("%u"), rra.Uint(0)
	case gmetric.WordFloat:
		msg.Format, msg.Number = []byte("%.1f"), rra.Float(0)
	default:
		msg.Format, msg.Number = []byte("%.3f"), rra.Float(0)
	}
	b, err := msg.AppendBinary(nil)
	if err != nil {
		panic(fmt.Sprintf("message of metric %s: %v", m.name, err)) // a test makes all of them
	}
	return b
}

func (l *gmetricLoad) size() (messages, series, values int) {
	n := len(l.metrics)
	if l.both {
		return 2 * n, n, n
	}
	return n, n, n
}

func (l *gmetricLoad) before() [][]byte { return l.meta }

func (l *gmetricLoad) step(i int) (message []byte, samples, values int) {
	if l.both {
		if i%2 == 0 {
			return l.meta[i/2], 0, 0
		}
		i /= 2
	}
	m, b := &l.metrics[i], l.values[i]
	m.next(&l.random)
	switch m.word { // the value is the last of a message
	case gmetric.WordUint:
		binary.BigEndian.PutUint32(b[len(b)-4:], uint32(m.v))
	case gmetric.WordFloat:
		binary.BigEndian.PutUint32(b[len(b)-4:], math.Float32bits(float32(m.float())))
	default:
		binary.BigEndian.PutUint64(b[len(b)-8:], math.Float64bits(m.float()))
	}
	return b, 1, 1
}

// value returns the last reading as the store is given it.
func (m *gmetricMetric) value() rra.Value {
	switch {
	case m.word == gmetric.WordUint && m.shape == busy:
		return rra.Uint(uint64(uint32(m.v)))
	case m.word == gmetric.WordUint:
		return rra.Float(float64(uint32(m.v)))
	case m.word == gmetric.WordFloat:
		return rra.Float(float64(float32(m.float())))
	}
	return rra.Float(m.float())
}

func (l *gmetricLoad) series(n int) state {
	m := &l.metrics[n]
	return state{Path: "ganglia/" + m.host + "/" + m.name, Readings: []string{rra.FormatReading(m.value(), nil)}}
}
