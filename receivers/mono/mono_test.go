package mono

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// must returns bytes that cannot fail to be written.
func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// suiteCounter is what the suite's messages are of.
var suiteCounter = Counter{Category: Custom, Name: "suite", Type: Long, Variance: Monotonic, Index: 3}

// at is n seconds past the epoch of the suite, as an agent says it.
func at(n int) int64 { return Ticks(rra.Seconds(receivertest.Epoch + int64(n))) }

func message(n int) []byte {
	return must(AppendSample(nil, at(n), []Value{{suiteCounter.Index, Long, uint64(n)}}))
}

func suite(t testing.TB) receivertest.Case {
	c := receivertest.Case{
		Protocol: Protocol,
		Opening:  must(AppendHello(nil, []Counter{suiteCounter})),
		Message:  message,
		Greedy: [][]byte{
			nil,
			unhex(t, "0001000010"),                 // 4096 counters
			unhex(t, "000100001000000000ff030000"), // and a long name
			append(hello(t), unhex(t, "0104000000")...),     // a list
			append(hello(t), unhex(t, "04000000000000")...), // a sample
		},
		Limits: receivertest.ConnLimits{Conns: flagConns.Conns.Name, HostConns: flagConns.HostConns.Name, Idle: flagConns.Idle.Name},
	}
	for _, name := range []string{"agent-tcp", "agent-requests", "agent-v0", "page-dialect", "word-sizes"} {
		b := capture(t, name+".bin")
		c.Garbage = append(c.Garbage, b, b[:len(b)/2])
	}
	return c
}

func TestReceiver(t *testing.T) {
	receivertest.Run(t, suite(t))
}

// start serves with further options.
func start(t testing.TB, rec *receivertest.Recorder, options ...string) *receivertest.Running {
	t.Helper()
	return receivertest.Start(t, receivertest.Case{Protocol: Protocol}, rec, func(c *receivers.Config) {
		c.MaxFuture = -1
		c.Options = make(map[string][]string)
		for i := 0; i < len(options); i += 2 {
			c.Options[options[i]] = append(c.Options[options[i]], options[i+1])
		}
	})
}

// eventually waits until cond is true of something that gives no sign.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// send sends b over a connection of its own.
func send(t testing.TB, r *receivertest.Running, b []byte) net.Conn {
	t.Helper()
	conn := r.Dial()
	if _, err := conn.Write(b); err != nil {
		t.Fatal(err)
	}
	return conn
}

// wantSamples is what the samples of a manifest's file are as series of peer: at each all counters
// that have a value.
func wantSamples(t testing.TB, file, peer string) map[string][]receivertest.Sample {
	t.Helper()
	want := make(map[string][]receivertest.Sample)
	b := capture(t, file)
	r, err := read(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	byIndex := make(map[string]*Counter)
	rs := r.Readings()
	for i := range rs {
		byIndex[fmt.Sprint(rs[i].Index)] = &rs[i].Counter
	}
	for _, e := range r.events {
		for index, text := range e.Values {
			c := byIndex[index]
			path := Identify(peer, c).Path
			at, ok := TimeOf(e.Ticks)
			if !ok {
				t.Fatalf("%d ticks are no time", e.Ticks)
			}
			want[path] = append(want[path], receivertest.Sample{Path: path, At: at, Values: []rra.Value{parseExact(t, c.Type, text)}})
		}
	}
	return want
}

func parseExact(t testing.TB, typ Type, text string) rra.Value {
	t.Helper()
	if typ == Double {
		var f float64
		if _, err := fmt.Sscan(text, &f); err != nil {
			t.Fatal(err)
		}
		return rra.Float(f)
	}
	var n int64
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatal(err)
	}
	return rra.Int(n)
}

func byPath(samples []receivertest.Sample) map[string][]receivertest.Sample {
	m := make(map[string][]receivertest.Sample)
	for _, s := range samples {
		m[s.Path] = append(m[s.Path], s)
	}
	return m
}

// TestCapturesOverTCP: what a real agent has sent becomes samples of every counter at every sample.
func TestCapturesOverTCP(t *testing.T) {
	for _, file := range []string{"agent-tcp.bin", "agent-file.bin", "word-sizes.bin"} {
		t.Run(file, func(t *testing.T) {
			rec := new(receivertest.Recorder)
			r := start(t, rec)
			conn := send(t, r, capture(t, file))
			want := wantSamples(t, file, "127.0.0.1")
			n := 0
			for _, s := range want {
				n += len(s)
			}
			r.UntilSamples(n)
			_ = conn.Close() // it has served
			eventually(t, "the agent has gone", func() bool { return r.Stats().Connections == 0 })
			r.Stop()
			if diff := cmp.Diff(want, byPath(rec.Samples())); diff != "" {
				t.Errorf("samples (-want +got):\n%s", diff)
			}
			if st := r.Stats(); st.Dropped != [receivers.NumReasons]uint64{} || st.Series != 0 {
				t.Errorf("stats %+v, want no drop, and no series held", st)
			}
		})
	}
}

// TestSeriesAndSamples: what is made of counters and samples, on its way to the store.
func TestSeriesAndSamples(t *testing.T) {
	rec := new(receivertest.Recorder)
	r := receivertest.Start(t, suite(t), rec, func(c *receivers.Config) {
		c.Options = map[string][]string{flagStep.Name: {"10s"}}
	})
	b := must(AppendHello(nil, []Counter{
		{GC, "a", Int, Events, Monotonic, 5},
		{9, "b/c", Double, 99, Variable, 2},
		{System, "never", Word, Bytes, Constant, 0},
	}))
	half := must(AppendSample(nil, at(1)+5_000_000, []Value{{5, Int, 1<<64 - 1}}))
	future := must(AppendSample(nil, Ticks(rra.Seconds(receivertest.Now+3601)), nil))
	justSo := must(AppendSample(nil, Ticks(rra.Seconds(receivertest.Now+3600)), []Value{{2, Double, math.Float64bits(math.NaN())}}))
	ancient := must(AppendSample(nil, Ticks(rra.Seconds(1)), nil))
	arrival := must(AppendSample(nil, 123456, []Value{{2, Double, math.Float64bits(0.5)}}))
	r.Send()
	conn := send(t, r, bytes.Join([][]byte{b, half, future, ancient, justSo, arrival}, nil))
	r.UntilSamples(5)
	_ = conn.Close() // it has served
	r.Stop()
	peer := "127.0.0.1#2"
	pathA, pathB := "mono/"+peer+"/Mono GC/a", "mono/"+peer+"/category-9/b_c~e05e816d48b93c6a"
	want := []receivertest.Sample{
		{Path: pathA, At: rra.Seconds(receivertest.Epoch+1) + 500_000, Values: []rra.Value{rra.Int(-1)}},
		{Path: pathA, At: rra.Seconds(receivertest.Now + 3600), Values: []rra.Value{rra.Int(-1)}},
		{Path: pathB, At: rra.Seconds(receivertest.Now + 3600), Values: []rra.Value{rra.Unknown}},
		{Path: pathA, At: rra.Seconds(receivertest.Now), Values: []rra.Value{rra.Int(-1)}},
		{Path: pathB, At: rra.Seconds(receivertest.Now), Values: []rra.Value{rra.Float(0.5)}},
	}
	if diff := cmp.Diff(want, rec.Samples()); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	if st := r.Stats(); st.Dropped[receivers.State] != 2 || st.Samples != 5 || st.Packets != 7 {
		t.Errorf("stats %+v, want two of state dropped, and seven messages", st)
	}
	s := rec.Series()
	if len(s) != 2 {
		t.Fatalf("series %v, want two", s)
	}
	if d := s[0].Definition; d.Step != 10 || d.Sources[0].Kind != rra.Derive || d.Sources[0].Heartbeat != 60 {
		t.Errorf("definition %+v", d)
	}
	labels := []core.Label{
		{Name: "category", Value: "category-9"},
		{Name: "name", Value: "b/c"},
		{Name: "peer", Value: peer},
		{Name: "type", Value: "double"},
		{Name: "unit", Value: "unit-99"},
		{Name: "variance", Value: "variable"},
	}
	if diff := cmp.Diff(labels, s[1].Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	var texts map[string]core.Metadata
	_ = rec.Until(t.Context(), func(s receivertest.State) bool { texts = s.Texts; return true }) // true at once
	attributes := []core.Label{
		{Name: "category", Value: "Mono GC"},
		{Name: "type", Value: "int"},
		{Name: "units", Value: "events"},
		{Name: "variance", Value: "monotonic"},
	}
	if diff := cmp.Diff(attributes, texts[pathA].Attributes); diff != "" || len(texts) != 2 || texts[pathA].Time != rra.Seconds(receivertest.Now) {
		t.Errorf("metadata %+v (-want +got):\n%s", texts, diff)
	}
}

// A counted sink counts what passes beside the samples.
type counted struct {
	*receivertest.Recorder
	mu       sync.Mutex
	resolves int
	texts    int
}

func (c *counted) Resolve(ctx context.Context, reqs []receivers.Request) error {
	c.mu.Lock()
	c.resolves += len(reqs)
	c.mu.Unlock()
	return c.Recorder.Resolve(ctx, reqs)
}

func (c *counted) Describe(ctx context.Context, ds []receivers.Description) ([]error, error) {
	c.mu.Lock()
	c.texts += len(ds)
	c.mu.Unlock()
	return c.Recorder.Describe(ctx, ds)
}

// startSink serves into any sink.
func startSink(t testing.TB, sink receivers.Sink, change func(*server)) *receivertest.Running {
	t.Helper()
	c := suite(t)
	c.Protocol.New = func(cfg receivers.Config, _ receivers.Sink) (receivers.Receiver, error) {
		r, err := newServer(cfg, sink)
		if err == nil && change != nil {
			s := r.(*server)
			change(s)
			s.Asks = receivers.NewResolver(sink, s.Config, "mono")
		}
		return r, err
	}
	return receivertest.Start(t, c, new(receivertest.Recorder), nil)
}

// TestOnce: a series is resolved once a connection, and described once for all of them.
func TestOnce(t *testing.T) {
	sink := &counted{Recorder: new(receivertest.Recorder)}
	r := startSink(t, sink, nil)
	for n := range 3 {
		b := bytes.Clone(suite(t).Opening)
		for i := range 10 {
			b = append(b, message(10*n+i)...)
		}
		conn := send(t, r, b)
		eventually(t, "samples are stored", func() bool { return len(sink.Samples()) == 10*(n+1) })
		_ = conn.Close() // it has served
		eventually(t, "the agent has gone", func() bool { return r.Stats().Connections == 0 })
	}
	r.Stop()
	if sink.resolves != 3 || sink.texts != 1 {
		t.Errorf("%d resolves and %d descriptions, want 3 and 1", sink.resolves, sink.texts)
	}
}

// TestOneName: of two counters with one name the first is stored, the other counted.
func TestOneName(t *testing.T) {
	rec := new(receivertest.Recorder)
	r := start(t, rec)
	a, b := suiteCounter, suiteCounter
	b.Index++
	values := []Value{{a.Index, Long, 1}, {b.Index, Long, 2}}
	send(t, r, append(must(AppendHello(nil, []Counter{a, b})), must(AppendSample(must(AppendSample(nil, at(0), values)), at(1), nil))...))
	eventually(t, "two are dropped", func() bool { return r.Stats().Dropped[receivers.State] == 2 })
	r.Stop()
	if s := rec.Samples(); len(s) != 2 || s[0].Values[0] != rra.Int(1) || s[1].Values[0] != rra.Int(1) {
		t.Errorf("samples %v, want two of the first counter", s)
	}
}

// TestOtherKind: values that do not fit the series that is there are dropped.
func TestOtherKind(t *testing.T) {
	rec := new(receivertest.Recorder)
	r := start(t, rec)
	gauge := suiteCounter
	gauge.Variance = Variable
	conn := send(t, r, append(suite(t).Opening, message(0)...))
	r.UntilSamples(1)
	_ = conn.Close() // it has served
	eventually(t, "the agent has gone", func() bool { return r.Stats().Connections == 0 })
	send(t, r, append(must(AppendHello(nil, []Counter{gauge})), message(1)...))
	eventually(t, "one is dropped", func() bool { return r.Stats().Dropped[receivers.State] == 1 })
	r.Stop()
	if n := len(rec.Samples()); n != 1 {
		t.Errorf("%d samples, want 1", n)
	}
}

// TestHeld: what all agents together announce is bounded.
func TestHeld(t *testing.T) {
	r := startSink(t, new(receivertest.Recorder), func(s *server) { s.maxHeld = 100 << 10 })
	var cs []Counter
	for i := range int16(50) {
		cs = append(cs, Counter{Category: Custom, Name: fmt.Sprint(strings.Repeat("n", 1000), i), Index: i})
	}
	h := must(AppendHello(nil, cs))
	first := send(t, r, h)
	eventually(t, "it is read", func() bool { return r.Stats().Packets == 1 })
	second := send(t, r, h)
	if b := untilEnd(t, second); !bytes.Equal(b, []byte{goodBye}) {
		t.Errorf("the second agent gets %x, want good bye", b)
	}
	if st := r.Stats(); st.Dropped[receivers.Limit] != 1 {
		t.Errorf("stats %+v, want one dropped for the limit", st)
	}
	for _, conn := range []net.Conn{first, second} {
		_ = conn.Close() // it has served
	}
	eventually(t, "they have gone", func() bool { return r.Stats().Connections == 0 })
	before := r.Stats().Packets
	send(t, r, h)
	eventually(t, "there is room again", func() bool { return r.Stats().Packets > before })
}

// untilEnd returns what the receiver sends until it hangs up, however it does.
func untilEnd(t testing.TB, conn net.Conn) []byte {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(conn); err != nil {
		t.Fatalf("after %x: %v", b.Bytes(), err)
	}
	return b.Bytes()
}

// TestGoodBye: whoever is sent away gets a message.
func TestGoodBye(t *testing.T) {
	opening := suite(t).Opening
	for _, test := range []struct {
		name    string
		sent    []byte
		options []string
		stop    bool
		reason  receivers.Reason
	}{
		{name: "stop", sent: append(opening[:len(opening):len(opening)], message(0)...), stop: true, reason: receivers.NumReasons},
		{name: "stop before hello", stop: true, reason: receivers.NumReasons},
		{name: "silent", sent: opening, options: []string{flagConns.Idle.Name, "100ms"}, reason: receivers.NumReasons},
		{name: "error", sent: append(opening[:len(opening):len(opening)], 0x55), reason: receivers.Unsupported},
		{name: "error, and more behind it", sent: append(opening[:len(opening):len(opening)], bytes.Repeat([]byte{0x55}, 100_000)...), reason: receivers.Unsupported},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := start(t, new(receivertest.Recorder), test.options...)
			conn := send(t, r, test.sent)
			eventually(t, "it is taken", func() bool { s := r.Stats(); return s.Connections == 1 || s.Bytes > 0 })
			if test.stop {
				eventually(t, "it is read", func() bool { return r.Stats().Bytes == uint64(len(test.sent)) })
				var stopping sync.WaitGroup
				defer stopping.Wait()
				stopping.Go(r.Stop)
			}
			if b := untilEnd(t, conn); !bytes.Equal(b, []byte{goodBye}) {
				t.Errorf("got %x, want good bye", b)
			}
			if test.reason != receivers.NumReasons {
				eventually(t, "it is counted", func() bool { return r.Stats().Dropped[test.reason] == 1 })
			}
		})
	}
}

// TestEnabled: files are read though no address is listened at.
func TestEnabled(t *testing.T) {
	file := filepath.Join(captures, "agent-file.bin")
	for _, test := range []struct {
		c    receivers.Config
		want bool
	}{
		{receivers.Config{}, false},
		{receivers.Config{Address: "127.0.0.1:0"}, true},
		{receivers.Config{Options: map[string][]string{flagFile.Name: {""}}}, false},
		{receivers.Config{Options: map[string][]string{flagFile.Name: {file}}}, true},
	} {
		if got := Protocol.Enabled(test.c); got != test.want {
			t.Errorf("%+v: enabled %t, want %t", test.c, got, test.want)
		}
	}
}

// TestBigEndian: an agent of another byte order is recognised by its version.
func TestBigEndian(t *testing.T) {
	b := binary.BigEndian.AppendUint16([]byte{cmdHello}, Version)
	if _, err := read(nil, binary.BigEndian.AppendUint16(b, 1)); receivers.ReasonOf(err) != receivers.Unsupported {
		t.Errorf("error %v, want one of class unsupported", err)
	}
}

// A failing sink resolves nothing until it is mended.
type failing struct {
	receivertest.Recorder
	mended  atomic.Bool
	asked   atomic.Int64
	refused error
}

func (f *failing) Resolve(ctx context.Context, reqs []receivers.Request) error {
	f.asked.Add(1)
	if !f.mended.Load() {
		return f.refused
	}
	return f.Recorder.Resolve(ctx, reqs)
}

// TestResolveFails: while the store makes no series samples are counted, and it is asked once a
// second.
func TestResolveFails(t *testing.T) {
	for reason, refused := range map[receivers.Reason]error{
		receivers.Failed:   errors.New("disk on fire"),
		receivers.Overload: context.DeadlineExceeded,
	} {
		t.Run(reason.String(), func(t *testing.T) {
			sink := &failing{refused: refused}
			var now atomic.Int64
			now.Store(receivertest.Now)
			r := startSink(t, sink, func(s *server) { s.Config.Now = func() time.Time { return time.Unix(now.Load(), 0) } })
			conn := r.Dial()
			n := 0
			next := func(b []byte) {
				t.Helper()
				n++
				if _, err := conn.Write(append(b, message(n)...)); err != nil {
					t.Fatal(err)
				}
			}
			next(bytes.Clone(suite(t).Opening))
			next(nil)
			next(nil)
			dropped := func(failed, paused uint64) func() bool {
				var want [receivers.NumReasons]uint64
				want[receivers.Overload] = paused
				want[reason] += failed
				return func() bool { return r.Stats().Dropped == want }
			}
			eventually(t, "three are dropped", dropped(1, 2))
			now.Add(1)
			next(nil)
			eventually(t, "four are dropped", dropped(2, 2))
			if n := sink.asked.Load(); n != 2 {
				t.Errorf("the sink was asked %d times, want 2", n)
			}
			sink.mended.Store(true)
			now.Add(1)
			next(nil)
			eventually(t, "one is stored", func() bool { return len(sink.Samples()) == 1 })
		})
	}
}
