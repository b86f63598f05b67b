package gmetric

import (
	"context"
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// workload returns datagrams as the gmetric command sends them, metadata and value of each metric
// in turn, from hosts of 100 metrics each. With gmond they are values only, of its own types.
func workload(b testing.TB, metrics int, gmond bool) (packets [][]byte) {
	b.Helper()
	for i := range metrics {
		host, name := fmt.Sprintf("host%05d.example.org", i/100), fmt.Sprintf("metric_%02d", i%100)
		m := meta(host, name, []string{"uint32", "float", "double", "int16"}[i%4], []Slope{Both, Both, Zero, Positive}[i%4])
		m.Units = []byte("bytes/sec")
		m.Extra = []Pair{{[]byte("GROUP"), []byte("network")}, {[]byte("DESC"), []byte("what it is")}, {[]byte("TITLE"), []byte("Metric")}}
		v := value(host, name, []string{"4294967", "3.14159", "2718.281828", "32767"}[i%4])
		if gmond {
			m.Type, m.Slope = []byte("float"), Both
			v.Word, v.Text, v.Number = WordFloat, nil, rra.Float(1.5)
		}
		packets = append(packets, example(b, m), example(b, v))
	}
	return packets
}

// BenchmarkDecode is bytes to messages; ns/metric is the figure. format=3.1 has two messages a
// metric.
func BenchmarkDecode(b *testing.B) {
	old := make([][]byte, 1000)
	for i := range old {
		old[i] = message(b, i)
	}
	for _, c := range []struct {
		name    string
		packets [][]byte
		each    int // messages a metric
	}{
		{"format=3.0", old, 1},
		{"format=3.1", workload(b, 1000, false), 2},
	} {
		b.Run(c.name, func(b *testing.B) {
			var m Message
			size := 0
			for _, p := range c.packets {
				size += len(p)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for _, p := range c.packets {
					if err := m.Decode(p); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(c.packets)/c.each), "ns/metric")
		})
	}
}

// BenchmarkReceive is all of a receiver but the socket and the store: decode, look up, compare
// metadata, add to a batch.
func BenchmarkReceive(b *testing.B) {
	for _, metrics := range []int{1000, 20_000, 1_000_000} {
		for _, gmond := range []bool{false, true} {
			b.Run(fmt.Sprintf("metrics=%d/gmond=%t", metrics, gmond), func(b *testing.B) {
				packets := workload(b, metrics, gmond)
				s := offline(new(receivertest.Nowhere), receivers.Config{})
				defer s.close()
				run := func() {
					for len(packets) > 0 && s.cache.Len() < metrics || len(s.texts.dirty) > 0 { // until all are known
						s.every = 0
						for i, p := range packets {
							if i%64 == 0 {
								s.begin()
							}
							s.datagram(p, loopback)
							if i%64 == 63 || i == len(packets)-1 {
								s.resolve(context.Background())
								s.tick(context.Background())
							}
						}
					}
				}
				run()
				if gmond { // which sends metadata at its start only
					var values [][]byte
					for i := 1; i < len(packets); i += 2 {
						values = append(values, packets[i])
					}
					packets = values
				}
				s.every = tickEvery
				samples := s.Stats().Samples
				b.ReportAllocs()
				for b.Loop() {
					for i, p := range packets {
						if i%64 == 0 {
							s.begin()
						}
						s.datagram(p, loopback)
					}
					s.resolve(context.Background())
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*metrics), "ns/metric")
				s.queue.Flush()
				if st := s.Stats(); s.cache.Len() != metrics || st.Samples-samples+st.Dropped[receivers.Overload] < uint64(b.N*metrics) {
					b.Fatalf("%d metrics, %+v", s.cache.Len(), st)
				}
			})
		}
	}
}
