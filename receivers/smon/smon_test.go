package smon

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// suite is what the suite needs: message n is a value of token 1, which the first message of a
// connection defines.
func suite(t testing.TB) receivertest.Case {
	c := receivertest.Case{
		Protocol: Protocol,
		Arrival:  true,
		Message: func(n int) []byte {
			return []byte{0xf0, 1, 0xf3, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
		},
		First: func(m []byte) []byte {
			return append([]byte("\x00\x06usuite\x01"), m[2:]...)
		},
		Limits: receivertest.ConnLimits{Conns: flagConns.Conns.Name, HostConns: flagConns.HostConns.Name, Idle: flagConns.Idle.Name},
		Greedy: [][]byte{
			[]byte("\x00\x06ssuite\x01\xf2\x01\x00\x00"),      // the longest text
			[]byte("\x00\x06usuite\xf1\xff\xff"),              // the last token there is
			[]byte("\x00\xff"),                                // nonsense
			[]byte("\x00\xf1\x01\x00u"),                       // the longest declaration
			[]byte("\x00\x06usuite\x01\xf9\x00\x00"),          // a long number
			[]byte("\x00\x06ssuite\x01\xf2\x00\xff\xffhello"), // a text that comes in small part
		},
	}
	c.Garbage = someStreams(t)
	return c
}

func TestReceiver(t *testing.T) { receivertest.Run(t, suite(t)) }

// A clock is a server's, and goes on only when the test says so.
type clock struct{ ms atomic.Int64 }

func (c *clock) now() time.Time { return time.UnixMilli(receivertest.Now*1000 + c.ms.Load()) }

func (c *clock) add(d time.Duration) { c.ms.Add(int64(d / time.Millisecond)) }

// start starts a receiver with a clock and a log, which it returns.
func start(t testing.TB, rec *receivertest.Recorder, options map[string][]string) (*receivertest.Running, *clock, *syncBuffer) {
	t.Helper()
	c := suite(t)
	c.Options, c.First = options, nil
	clock, log := new(clock), new(syncBuffer)
	return receivertest.Start(t, c, rec, func(cfg *receivers.Config) {
		cfg.Now = clock.now
		cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	}), clock, log
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// encoded returns the stream of data.
func encoded(t testing.TB, ds ...datum) []byte {
	t.Helper()
	var e Encoder
	for _, d := range ds {
		if err := d.encode(&e); err != nil {
			t.Fatal(err)
		}
	}
	return e.Bytes()
}

// until waits until cond is true of the receiver's counters.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	end := time.After(time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// TestSeriesAndSamples: what is made of values, on its way to the store.
func TestSeriesAndSamples(t *testing.T) {
	r, clock, _ := start(t, new(receivertest.Recorder), map[string][]string{
		flagKind.Name: {"linux.*=DERIVE", "a/**=COUNTER", "linux.cpu.idle=GAUGE"},
		flagStep.Name: {"30"},
	})
	var e Encoder
	samples := 0
	send := func(d datum) {
		t.Helper()
		if err := d.encode(&e); err != nil {
			t.Fatal(err)
		}
		r.Send(e.Bytes())
		e.Clear()
		samples++
		r.UntilSamples(samples)
	}
	send(number("linux.cpu.idle", math.MaxUint64, 0))
	clock.add(1500 * time.Millisecond)
	send(number("linux.cpu.idle", 1<<53+1, 8, 0))
	send(number("a/b\xff\x01", 7))
	send(number("...", 8, 1, 2, 3, 4, 5, 6, 7, math.MaxUint64))
	r.Stop()
	first, second := rra.Seconds(receivertest.Now), rra.Seconds(receivertest.Now)+1_500_000
	want := []receivertest.Sample{
		{Path: "smon/127.0.0.1/linux.cpu.idle/0", At: first, Values: []rra.Value{rra.Uint(math.MaxUint64)}},
		{Path: "smon/127.0.0.1/linux.cpu.idle/8/0", At: second, Values: []rra.Value{rra.Uint(1<<53 + 1)}},
		{Path: "smon/127.0.0.1/a_b\uFFFD_~22966a77711c23d4", At: second, Values: []rra.Value{rra.Uint(7)}},
		{Path: "smon/127.0.0.1/.../1/2/3/4/5/6/7/18446744073709551615", At: second, Values: []rra.Value{rra.Uint(8)}},
	}
	if diff := cmp.Diff(want, r.Recorder.Samples()); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	series := r.Recorder.Series()
	for i, kind := range []rra.Kind{rra.Derive, rra.Derive, rra.Counter, rra.Gauge} {
		d := series[i].Definition
		ds := rra.DataSource{Name: "value", Kind: kind, Heartbeat: 120, Min: math.NaN(), Max: math.NaN()}
		if diff := cmp.Diff(&rra.Definition{Step: 30, Sources: []rra.DataSource{ds}, Archives: receivers.StandardArchives(30)}, d, cmp.Comparer(sameFloat)); diff != "" {
			t.Errorf("definition of %s (-want +got):\n%s", series[i].Path, diff)
		}
	}
	labels := []core.Label{{Name: "peer", Value: "127.0.0.1"}, {Name: "token", Value: "linux.cpu.idle"}, {Name: "index", Value: "8/0"}}
	if diff := cmp.Diff(labels, series[1].Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if st := r.Stats(); st.Samples != 4 || st.Values != 4 || st.Packets != 4 || st.Dropped != [receivers.NumReasons]uint64{} {
		t.Errorf("stats %+v, want 4 samples and no drop", st)
	}
}

func sameFloat(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// TestTexts: the newest text of a name and index is kept; one that is the same is handed over again
// after a minute.
func TestTexts(t *testing.T) {
	rec := new(receivertest.Recorder)
	r, clock, _ := start(t, rec, nil)
	var e Encoder
	send := func(ds ...datum) {
		t.Helper()
		before := r.Stats().Packets
		for _, d := range ds {
			if err := d.encode(&e); err != nil {
				t.Fatal(err)
			}
		}
		r.Send(e.Bytes())
		e.Clear()
		until(t, "all is read", func() bool { return r.Stats().Packets == before+uint64(len(ds)) })
	}
	want := func(name, text string, at time.Time) {
		t.Helper()
		path := "smon/127.0.0.1/" + name
		m := core.Metadata{Time: rra.TimeOf(at), Text: text}
		r.Until(fmt.Sprintf("%s is %.40q at %v", path, text, at), func(s receivertest.State) bool { return cmp.Equal(s.Texts[path], m) })
	}
	start := clock.now()
	// Used twice, an index gets a token of its own.
	send(textOf("mon.version", "0.0.0"), textOf("mon.version", "0.0.1"), textOf("port.state", "up", 1), textOf("port.state", "up", 1), textOf("port.state", "up", 1),
		textOf("port.state", "up", 2), textOf("port.state", "up", 2), textOf("port.state", "down\xff", 2))
	want("mon.version", "0.0.1", start)
	want("port.state/1", "up", start)
	want("port.state/2", "down\uFFFD", start)
	clock.add(10 * time.Second)
	send(textOf("port.state", "up", 2), textOf("port.state", "down", 1), textOf("port.state", "up", 1), textOf("mon.version", "0.0.1"))
	want("port.state/2", "up", clock.now())
	if m, _ := rec.Metadata(context.Background(), "smon/127.0.0.1/port.state/1"); m.Time != rra.TimeOf(start) {
		t.Errorf("a text that is the same again is handed over after 10 s")
	}
	clock.add(50 * time.Second)
	send(textOf("mon.version", "0.0.1"))
	want("mon.version", "0.0.1", clock.now())
	long := strings.Repeat("é", keptText/2-1)
	send(textOf("log.tail", "x"+long+"éééé"))
	want("log.tail", "x"+long, clock.now())
	send(textOf("log.tail", strings.Repeat("\xff", MaxText)))
	want("log.tail", "\uFFFD", clock.now())
	if n := len(rec.Series()); n != 0 {
		t.Errorf("%d series, want none", n)
	}
}

// TestManyTexts: texts that come faster than they can be kept are shed, with a bound on what waits.
func TestManyTexts(t *testing.T) {
	r, _, _ := start(t, new(receivertest.Recorder), nil)
	var e Encoder
	long := []byte(strings.Repeat("x", MaxText))
	if err := e.String("long.text", nil, long); err != nil {
		t.Fatal(err)
	}
	b := bytes.Clone(e.Bytes())
	const more = 3000
	for i := range more { // each stands for 64 KiB
		b = append(b, codeClear, codeAppend, leadEqual+1, byte(i>>8), byte(i), 0, 0)
	}
	r.Send(b)
	until(t, "all is read", func() bool { return r.Stats().Packets == more+1 })
	r.Stop()
	kept := 0
	r.Until("texts", func(s receivertest.State) bool { kept = len(s.Texts); return true })
	if shed := r.Stats().Dropped[receivers.Overload]; kept == 0 || shed+uint64(kept) != more+1 {
		t.Errorf("%d texts kept and %d shed, want %d together", kept, shed, more+1)
	}
}

// TestDamagedStream: what comes before damage is stored, what comes after a reset is too, and each
// damage is counted and logged once a minute.
func TestDamagedStream(t *testing.T) {
	r, _, log := start(t, new(receivertest.Recorder), nil)
	good := func(n uint64) []byte { return encoded(t, number("good", n)) }
	reset := encoded(t, datum{})
	r.Send(bytes.Join([][]byte{good(1), {9, 0}, reset, good(2), reset, good(3), {0xf0, 0, 3, 'x'}, reset, good(4)}, nil))
	r.UntilSamples(4)
	r.Stop()
	for i, s := range r.Recorder.Samples() {
		if s.Values[0] != rra.Uint(uint64(i+1)) {
			t.Errorf("sample %d is %v", i+1, s.Values)
		}
	}
	st := r.Stats()
	// The reset between two elements, after the second value, is no damage.
	if st.Dropped[receivers.State] != 1 || st.Dropped[receivers.Malformed] != 0 || st.Dropped[receivers.Unsupported] != 1 {
		t.Errorf("stats %+v, want one each of state and unsupported", st)
	}
	if n := strings.Count(log.String(), "stream is skipped"); n != 1 || !strings.Contains(log.String(), "token 10 is not defined") {
		t.Errorf("%d lines, want one that says why: %s", n, log)
	}
}

// TestOrderlyReset: a reset between two elements is no error, in whatever pieces it comes; a reset
// within an element is.
func TestOrderlyReset(t *testing.T) {
	for _, test := range []struct {
		name      string
		between   string
		malformed uint64
	}{
		{"a reset", strings.Repeat("\xff", 17) + "\xfe", 0},
		{"a long one", strings.Repeat("\xff", 100) + "\xfe", 0},
		{"a short one, then one", strings.Repeat("\xff", 16) + "\xfe" + strings.Repeat("\xff", 17) + "\xfe", 1},
		{"one with something in it", strings.Repeat("\xff", 17) + "\x00" + strings.Repeat("\xff", 17) + "\xfe", 1},
		{"one inside an element", "\x00" + strings.Repeat("\xff", 17) + "\xfe", 1},
		{"one after an index code", "\xfd" + strings.Repeat("\xff", 17) + "\xfe", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, bytewise := range []bool{false, true} {
				r, _, _ := start(t, new(receivertest.Recorder), nil)
				b := slices.Concat(encoded(t, number("abc", 1)), []byte(test.between), encoded(t, number("abc", 2)))
				if bytewise {
					for i, c := range b {
						r.Send([]byte{c})
						until(t, "a byte is read", func() bool { return r.Stats().Bytes == uint64(i+1) })
					}
				} else {
					r.Send(b)
				}
				r.UntilSamples(2)
				r.Stop()
				want := [receivers.NumReasons]uint64{receivers.Malformed: test.malformed}
				if st := r.Stats(); st.Dropped != want {
					t.Errorf("byte by byte %t: dropped %v, want %v", bytewise, st.Dropped, want)
				}
			}
		})
	}
	t.Run("an end", func(t *testing.T) {
		r, _, _ := start(t, new(receivertest.Recorder), nil)
		r.Send(append(encoded(t, number("abc", 1)), 0xff, 0xff))
		r.UntilSamples(1)
		r.Stop()
		if st := r.Stats(); st.Dropped[receivers.Malformed] != 1 {
			t.Errorf("stats %+v, want one malformed", st)
		}
	})
}

// TestSkipLimit: a connection that sends nothing but nonsense is closed after 1 MiB of it.
func TestSkipLimit(t *testing.T) {
	r, _, log := start(t, new(receivertest.Recorder), nil)
	conn := r.Dial()
	nonsense := bytes.Repeat([]byte("nonsense"), 1<<10)
	sent := 0
	for sent < 4*skipBytes {
		n, err := conn.Write(nonsense)
		sent += n
		if err != nil {
			break
		}
	}
	until(t, "the connection is closed", func() bool { return r.Stats().Connections == 0 })
	if st := r.Stats(); st.Bytes < skipBytes || st.Bytes > skipBytes+2*readBytes || st.Dropped[receivers.State]+st.Dropped[receivers.Malformed] != 1 {
		t.Errorf("stats %+v, want some %d bytes and one drop", st, skipBytes)
	}
	if !strings.Contains(log.String(), "nonsense") {
		t.Errorf("log lacks a line: %s", log)
	}
}

// TestTruncated: what a connection leaves unfinished is counted and not logged.
func TestTruncated(t *testing.T) {
	r, _, log := start(t, new(receivertest.Recorder), nil)
	conn := r.Dial()
	if _, err := conn.Write(append(encoded(t, number("abc", 5)), 0)); err != nil {
		t.Fatal(err)
	}
	r.UntilSamples(1)
	_ = conn.Close() // sent
	until(t, "it is counted", func() bool { return r.Stats().Dropped[receivers.Truncated] == 1 })
	r.Stop()
	if log.String() != "" {
		t.Errorf("log %s, want none", log)
	}
}

// TestStale: references that the sink has refused are asked for again.
func TestStale(t *testing.T) {
	sink := &forgetful{Recorder: new(receivertest.Recorder)}
	clock := new(clock)
	c, err := Protocol.New(receivers.Config{Address: "127.0.0.1:0", Now: clock.now}, sink)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Serve(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	conn, err := net.Dial("tcp", c.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var e Encoder
	for n := uint64(0); sink.resolved.Load() < 3; n++ {
		clock.add(time.Second)
		if err := e.Unsigned("abc", nil, n); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(e.Bytes()); err != nil {
			t.Fatal(err)
		}
		e.Clear()
		until(t, "a value is read", func() bool { return c.Stats().Packets == n+1 })
		if n > 10000 {
			t.Fatal("the reference is not asked for again")
		}
	}
}

// A forgetful sink refuses every sample, because it has dropped its series.
type forgetful struct {
	*receivertest.Recorder
	resolved atomic.Int64
}

func (f *forgetful) Resolve(ctx context.Context, reqs []receivers.Request) error {
	f.resolved.Add(1)
	return f.Recorder.Resolve(ctx, reqs)
}

func (f *forgetful) Submit(_ context.Context, b *core.Batch) (receivers.Pending, error) {
	return refused{b.Len()}, nil
}

type refused struct{ n int }

func (r refused) Wait() error {
	return &core.RejectedError{Other: r.n, First: []core.Rejection{{Err: core.ErrNotFound}}}
}

// TestHeldTooMuch: when all streams of an address hold too much, the one that asks for more ends,
// and lets go of what it holds.
func TestHeldTooMuch(t *testing.T) {
	const most, each = 4 << 20, 1 << 20
	held := limit.New(maxHeld, most)
	c := suite(t)
	c.First = nil
	c.Protocol.New = func(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
		r, err := newServer(cfg, sink)
		if err == nil {
			r.(*server).held = held
		}
		return r, err
	}
	log := new(syncBuffer)
	r := receivertest.Start(t, c, new(receivertest.Recorder), func(cfg *receivers.Config) {
		cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	})
	var e Encoder
	for i := range each / MaxText {
		if err := e.String(fmt.Sprintf("text%d", i), nil, bytes.Repeat([]byte{'x'}, MaxText)); err != nil {
			t.Fatal(err)
		}
	}
	sent := uint64(0)
	for n := 1; ; n++ {
		if _, err := r.Dial().Write(e.Bytes()); err != nil {
			t.Fatal(err)
		}
		sent += uint64(len(e.Bytes()))
		until(t, "all is read", func() bool { return r.Stats().Bytes == sent })
		if r.Stats().Dropped[receivers.Limit] > 0 || n > most/each {
			if n != most/each {
				t.Errorf("stream %d is refused, want %d", n, most/each)
			}
			break
		}
	}
	if !strings.Contains(log.String(), "hold too much") {
		t.Errorf("log lacks a line: %s", log)
	}
	r.Stop()
	if n := held.Used(); n != 0 {
		t.Errorf("%d bytes are held, want none when all are gone", n)
	}
}

// TestEntryBytes: what is counted is what entries take.
func TestEntryBytes(t *testing.T) {
	if got := unsafe.Sizeof(entry{}); got != entryBytes {
		t.Errorf("an entry takes %d bytes, want %d", got, entryBytes)
	}
	if got := unsafe.Sizeof(Token{}); got > tokenCost {
		t.Errorf("a token takes %d bytes, want at most %d", got, tokenCost)
	}
}
