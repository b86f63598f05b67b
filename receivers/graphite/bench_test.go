package graphite

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// offline returns a source of a receiver whose sink keeps nothing.
func offline(b testing.TB) *source {
	b.Helper()
	cfg := receivers.Config{}.WithDefaults()
	set, err := configure(cfg)
	if err != nil {
		b.Fatal(err)
	}
	s := newServer(cfg, set, new(receivertest.Nowhere))
	s.queue = receivers.NewSharedQueue(s.sink, &s.Counters, cfg)
	b.Cleanup(s.queue.Stop)
	return s.newSource("10.0.0.1")
}

// rounds returns lines of names, a round of all of them each second.
func rounds(names, rounds int) []byte {
	var text []byte
	for at := range rounds {
		for i := range names {
			text = fmt.Appendf(text, "servers.web%03d.cpu.cpu-%d.percent-idle %d.%02d %d\n", i/8, i%8, (i*7+at)%100, (i+at)%100, 1_700_000_000+at)
		}
	}
	return text
}

// feed feeds text in pieces as a connection reads them.
func (c *source) feed(text []byte) {
	for len(text) > 0 {
		n := bytes.LastIndexByte(text[:min(len(text), lastBuffer)], '\n') + 1
		c.lines(context.Background(), text[:n])
		text = text[n:]
	}
}

// BenchmarkParseLine is bytes to values.
func BenchmarkParseLine(b *testing.B) {
	line := []byte("servers.web042.cpu.cpu-1.percent-idle 97.25 1700000000")
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseLine(line, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReceive is all of a receiver but the socket and the store.
func BenchmarkReceive(b *testing.B) {
	const each = 4
	for _, names := range []int{1000, 100_000} {
		b.Run(fmt.Sprintf("names=%d", names), func(b *testing.B) {
			text := rounds(names, each)
			c := offline(b)
			c.feed(text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				c.feed(text)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*names*each), "ns/point")
			if st := c.Stats(); st.Samples == 0 || st.Dropped[receivers.Malformed]+st.Dropped[receivers.State] > 0 {
				b.Fatalf("%+v", st)
			}
		})
	}
}

// pickleOf returns the pickle of points of protocol 2.
func pickleOf(points int) []byte {
	b := []byte("\x80\x02](")
	for i := range points {
		name := fmt.Sprintf("servers.web%03d.cpu.cpu-%d.percent-idle", i/8, i%8)
		b = append(b, 'X')
		b = binary.LittleEndian.AppendUint32(b, uint32(len(name)))
		b = append(append(b, name...), 'J')
		b = append(binary.LittleEndian.AppendUint32(b, 1_700_000_000), 'G')
		b = append(binary.BigEndian.AppendUint64(b, math.Float64bits(float64(i)/4)), "\x86\x86"...)
	}
	return append(b, "e."...)
}

// BenchmarkPickle is the same for pickles of 500 points, as relays send them.
func BenchmarkPickle(b *testing.B) {
	const points = 500
	pickle := pickleOf(points)
	c := offline(b)
	c.begin()
	b.SetBytes(int64(len(pickle)))
	b.ReportAllocs()
	for b.Loop() {
		c.pickle(context.Background(), pickle)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*points), "ns/point")
}

// TestReceiveAllocates: once its series are known, a line or an item of a pickle costs no
// allocation.
func TestReceiveAllocates(t *testing.T) {
	text, pickle := rounds(1000, 4), pickleOf(1000)
	c := offline(t)
	run := func() {
		c.feed(text)
		c.pickle(context.Background(), pickle)
	}
	for range 100 { // the queue's batches grow to their size
		run()
	}
	// The batches that are on their way are others each time; the last of them may still grow.
	if n := testing.AllocsPerRun(20, run); n > 50 {
		t.Errorf("%v allocations for 5000 points, want next to none", n)
	}
}
