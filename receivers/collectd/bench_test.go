package collectd

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// workload returns packets as collectd fills them: hosts of 100 series each, one reading of all of
// them.
func workload(b *testing.B, series int, how string) (packets [][]byte, values int) {
	b.Helper()
	var e Encoder
	flush := func() {
		if len(e.Bytes()) > 0 {
			packets = append(packets, nest(b, append([]byte(nil), e.Bytes()...), how))
			e.Reset()
		}
	}
	for s := range series {
		v := &ValueList{
			Names: Names{Host: fmt.Appendf(nil, "host%05d.example.org", s/100), Plugin: []byte("cpu"), PluginInstance: fmt.Appendf(nil, "%d", s%100/10), Type: []byte("cpu"), TypeInstance: []byte([]string{"user", "system", "idle", "wait", "nice", "interrupt", "softirq", "steal", "guest", "guest_nice"}[s%10])},
			Time:  epoch + Stamp(s), Interval: 10 << 30,
		}
		v.AddDerive(int64(s) * 1000)
		if s%100 == 0 {
			flush()
		}
		if !e.Add(v) {
			flush()
			e.Add(v)
		}
		values++
	}
	flush()
	return packets, values
}

// BenchmarkDecode is bytes to value lists; ns/value is the figure.
func BenchmarkDecode(b *testing.B) {
	for _, how := range []string{"", "s", "e"} {
		b.Run("protection="+how, func(b *testing.B) {
			packets, values := workload(b, 20_000, how)
			d := Decoder{Users: captureUsers(b)}
			bytes := 0
			for _, p := range packets {
				bytes += len(p)
			}
			b.SetBytes(int64(bytes))
			b.ReportAllocs()
			for b.Loop() {
				for _, p := range packets {
					if err := d.Decode(p, discard{}); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*values), "ns/value")
		})
	}
}

// BenchmarkLookup is decoding and finding the reference of each series.
func BenchmarkLookup(b *testing.B) {
	for _, series := range []int{1000, 20_000, 1_000_000} {
		b.Run(fmt.Sprintf("series=%d", series), func(b *testing.B) {
			packets, values := workload(b, series, "")
			var d Decoder
			f := finder{cache: newCache(cacheEntries)}
			run := func() {
				for _, p := range packets {
					if err := d.Decode(p, &f); err != nil {
						b.Fatal(err)
					}
				}
			}
			run()
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*values), "ns/value")
			if f.cache.Len() != series || f.made != series {
				b.Fatalf("%d entries of %d made", f.cache.Len(), f.made)
			}
		})
	}
}

// A finder finds the entry of every list.
type finder struct {
	discard
	*cache
	made int
}

func (f *finder) List(v *ValueList) {
	if f.find(v) == nil {
		f.add(v)
		f.made++
	}
}

// BenchmarkReceive is all of a receiver but the socket and the store: decode, look up, add to a
// batch.
func BenchmarkReceive(b *testing.B) {
	for _, series := range []int{1000, 20_000, 1_000_000} {
		b.Run(fmt.Sprintf("series=%d", series), func(b *testing.B) {
			packets, values := workload(b, series, "")
			s := offline(new(receivertest.Nowhere))
			defer s.queue.Stop()
			s.readAll(b, packets)
			b.ReportAllocs()
			for b.Loop() {
				s.readAll(b, packets)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*values), "ns/value")
			if st := s.Stats(); st.Dropped[receivers.State] > 0 || s.cache.Len() != series {
				b.Fatalf("%d entries, %+v", s.cache.Len(), st)
			}
		})
	}
}

// offline returns a receiver without a socket.
func offline(sink receivers.Sink) *server {
	s := &server{
		cfg: receivers.Config{MaxFuture: -1}.WithDefaults(), set: settings{types: StandardTypes()},
		sink: sink, cache: newCache(cacheEntries),
	}
	s.asks = receivers.NewResolver(sink, s.cfg, "collectd")
	s.queue = receivers.NewQueue(s.sink, &s.Counters, s.cfg)
	s.now, s.latest = time.Now(), 1<<62
	return s
}

// readAll takes packets as they are read from the socket.
func (s *server) readAll(b *testing.B, packets [][]byte) {
	for _, p := range packets {
		if err := s.dec.Decode(p, s); err != nil {
			b.Fatal(err)
		}
		if s.news.Full() {
			s.resolve(context.Background())
		}
	}
	s.resolve(context.Background())
	s.queue.Flush()
}

// timesOf returns where the times stand in each packet.
func timesOf(packets [][]byte) [][]int {
	times := make([][]int, len(packets))
	for i, p := range packets {
		for off := 0; off < len(p); off += int(binary.BigEndian.Uint16(p[off+2:])) {
			if binary.BigEndian.Uint16(p[off:]) == partTimeHR {
				times[i] = append(times[i], off+partHeader)
			}
		}
	}
	return times
}

// advance moves packets to the next interval.
func advance(packets [][]byte, times [][]int) {
	for i, p := range packets {
		for _, at := range times[i] {
			binary.BigEndian.PutUint64(p[at:], binary.BigEndian.Uint64(p[at:])+10<<30)
		}
	}
}
