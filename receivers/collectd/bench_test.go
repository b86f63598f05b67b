package collectd

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine"
	"github.com/rondo-db/rondo/receivers"
)

// workload returns packets as collectd fills them: hosts of 100 series each, one reading of all of them.
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
			Host: fmt.Appendf(nil, "host%05d.example.org", s/100), Plugin: []byte("cpu"), PluginInstance: fmt.Appendf(nil, "%d", s%100/10),
			Type: []byte("cpu"), TypeInstance: []byte([]string{"user", "system", "idle", "wait", "nice", "interrupt", "softirq", "steal", "guest", "guest_nice"}[s%10]),
			Time: epoch + Stamp(s), Interval: 10 << 30,
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

// BenchmarkReceive is all of a receiver but the socket and the store: decode, look up, add to a batch.
func BenchmarkReceive(b *testing.B) {
	for _, series := range []int{1000, 20_000, 1_000_000} {
		b.Run(fmt.Sprintf("series=%d", series), func(b *testing.B) {
			packets, values := workload(b, series, "")
			s := &server{
				cfg: receivers.Config{MaxFuture: -1}.WithDefaults(), set: settings{types: StandardTypes()},
				sink: new(nowhere), cache: newCache(cacheEntries),
			}
			s.queue = receivers.NewQueue(s.sink, &s.Counters, s.cfg)
			defer s.queue.Stop()
			s.now, s.latest = time.Now(), 1<<62
			run := func() {
				for _, p := range packets {
					if err := s.dec.Decode(p, s); err != nil {
						b.Fatal(err)
					}
					if s.news.full() {
						s.resolve(context.Background())
					}
				}
				s.resolve(context.Background())
			}
			run()
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*values), "ns/value")
			if st := s.Stats(); st.Dropped[receivers.State] > 0 || s.cache.len() != series {
				b.Fatalf("%d entries, %+v", s.cache.len(), st)
			}
		})
	}
}

// nowhere is a sink that keeps nothing.
type nowhere struct{ refs engine.Ref }

func (n *nowhere) Resolve(_ context.Context, reqs []receivers.Request) error {
	for i := range reqs {
		n.refs++
		reqs[i].Ref, reqs[i].Definition = n.refs, reqs[i].Define(0)
	}
	return nil
}

func (*nowhere) Submit(context.Context, *engine.Batch) (receivers.Pending, error) {
	return stored{}, nil
}

func (*nowhere) Note(context.Context, string, engine.Note) error { return nil }

type stored struct{}

func (stored) Wait() error { return nil }

func (*nowhere) Describe(_ context.Context, ds []receivers.Description) ([]error, error) {
	return make([]error, len(ds)), nil
}

func (*nowhere) Metadata(context.Context, string) (engine.Metadata, error) {
	return engine.Metadata{}, nil
}
