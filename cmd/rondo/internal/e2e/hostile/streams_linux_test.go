package hostile

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers/mono"
	"github.com/rondo-db/rondo/receivers/smon"
)

// streamAttacks are what every receiver over TCP stands.
var streamAttacks = []func(*attack, context.Context) error{
	(*attack).streams, (*attack).slow, (*attack).stalled, (*attack).endless, (*attack).flood, (*attack).hoard,
}

func readFiles(t *testing.T, pattern string) (out [][]byte) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no file %s (%v)", pattern, err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

func monoSeeds(t *testing.T) [][]byte {
	t.Helper()
	return readFiles(t, filepath.Join(captures, "mono", "*.bin"))
}

// monoFlags lets a server with the race detector carry less forward: an empty sample of 11 bytes
// makes 4,096 values, and such a server would be at the bytes in the sockets for minutes.
func monoFlags() []string {
	if raceEnabled {
		return []string{"--mono-carried", "8192"}
	}
	return nil
}

// monoTicks are since the year 1.
func monoTicks(at time.Time) int64 { return at.UnixNano()/100 + 62_135_596_800*10_000_000 }

func monoCounters(prefix string, n int) []mono.Counter {
	cs := make([]mono.Counter, n)
	for i := range cs {
		cs[i] = mono.Counter{
			Category: mono.Custom, Name: fmt.Sprint(prefix, i), Type: mono.Long, Unit: mono.Events, Variance: mono.Variable, Index: int16(i),
		}
	}
	return cs
}

func monoValues(n int, v int64) []mono.Value {
	vs := make([]mono.Value, n)
	for i := range vs {
		vs[i] = mono.Value{Index: int16(i), Type: mono.Long, Bits: uint64(v)}
	}
	return vs
}

// monoFresh is an agent with one counter that no agent had before.
func monoFresh(i int) []byte {
	b, err := mono.AppendHello(nil, monoCounters(fmt.Sprint("fresh-", i, "-"), 1))
	if err == nil {
		b, err = mono.AppendSample(b, monoTicks(time.Now()), monoValues(1, 1))
	}
	if err != nil {
		panic(err) // it would be so for every i
	}
	return b
}

// monoHoard is an agent with as many counters as there may be and names as long as they may be.
func monoHoard() []byte {
	b, err := mono.AppendHello(nil, monoCounters(strings.Repeat("x", 900), mono.MaxCounters))
	if err == nil {
		b, err = mono.AppendSample(b, monoTicks(time.Now()), monoValues(mono.MaxCounters, 1))
	}
	if err != nil {
		panic(err) // a test that is wrong
	}
	return b
}

// monoEcho is an agent some of whose counters are stored, and which says again and again that
// nothing has changed: each time in a few bytes, and each time all of them are stored.
func monoEcho(a *attack, ctx context.Context) error {
	const counters = senderBurst / 2
	return a.several(ctx, 8, 3, func(c net.Conn) error {
		b, err := mono.AppendHello(nil, monoCounters("echo-", counters))
		if err != nil {
			return err
		}
		at := time.Now()
		for values := monoValues(counters, 1); err == nil; values = nil {
			for range 100 {
				if at = at.Add(time.Millisecond); at.After(time.Now().Add(time.Minute)) {
					at = time.Now()
				}
				if b, err = mono.AppendSample(b, monoTicks(at), values); err != nil {
					return err
				}
			}
			var n int
			n, err = c.Write(b)
			a.bytes.Add(uint64(n))
			b = b[:0]
		}
		return err
	})
}

// A monoSender is an agent.
type monoSender struct{ c net.Conn }

func newMonoSender(t *testing.T, addr string) goodSender {
	t.Helper()
	s := &monoSender{dialGood(t, "tcp", addr)}
	b, err := mono.AppendHello(nil, monoCounters("good-", goodSeries))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.c.Write(b); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *monoSender) paths() []string {
	paths := make([]string, goodSeries)
	for i := range paths {
		paths[i] = fmt.Sprint("mono/127.0.0.1/Mono Custom/good-", i)
	}
	return paths
}

func (s *monoSender) send(n int) (int, error) {
	b, err := mono.AppendSample(nil, monoTicks(time.Now()), monoValues(goodSeries, int64(n)))
	if err == nil {
		_, err = s.c.Write(b)
	}
	return 1, err
}

func smonSeeds(t *testing.T) [][]byte {
	t.Helper()
	var out [][]byte
	for line := range strings.Lines(string(readFiles(t, filepath.Join(captures, "smon", "streams.hex"))[0])) {
		digits, _, _ := strings.Cut(strings.TrimSpace(line), "#")
		b, err := hex.DecodeString(strings.TrimSpace(digits))
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 0 {
			out = append(out, b)
		}
	}
	return out
}

// smonFresh is a stream with one token that no stream had before.
func smonFresh(i int) []byte {
	var e smon.Encoder
	e.Reset()
	if err := e.Unsigned(fmt.Sprint("fresh.", i), nil, 1); err != nil {
		panic(err) // it would be so for every i
	}
	return e.Bytes()
}

// smonHoard is a stream of texts as long as they may be, which the receiver has to keep, and of
// numbers at ever other indexes.
func smonHoard() []byte {
	var e smon.Encoder
	text := []byte(strings.Repeat("x", smon.MaxText))
	var err error
	for j := range 300 {
		if err == nil {
			err = e.String(fmt.Sprint("text.", j), nil, text)
		}
	}
	e2 := smon.Encoder{}
	e2.Reset()
	for j := range 20_000 {
		if err == nil {
			err = e2.Unsigned("index", []uint64{uint64(j), math.MaxUint64}, 1)
		}
	}
	if err != nil {
		panic(err) // a test that is wrong
	}
	return append(e.Bytes(), e2.Bytes()...)
}

// A smonSender is a stream.
type smonSender struct {
	c net.Conn
	e smon.Encoder
}

func newSmonSender(t *testing.T, addr string) goodSender {
	return &smonSender{c: dialGood(t, "tcp", addr)}
}

func (s *smonSender) paths() []string {
	paths := make([]string, goodSeries)
	for i := range paths {
		paths[i] = fmt.Sprint("smon/127.0.0.1/good.", i)
	}
	return paths
}

func (s *smonSender) send(n int) (int, error) {
	for i := range goodSeries {
		if err := s.e.Unsigned(fmt.Sprint("good.", i), nil, uint64(n)); err != nil {
			return 0, err
		}
	}
	_, err := s.c.Write(s.e.Bytes())
	s.e.Clear()
	return 1, err
}
