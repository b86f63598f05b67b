package receivertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Epoch is the time of message 0, in seconds; Now is the clock of the suite.
const (
	Epoch = 1700000000
	Now   = Epoch + 1_000_000
)

// A Case is what the suite needs to know of a receiver.
type Case struct {
	Protocol receivers.Protocol
	// Options are the values of its flags.
	Options map[string][]string
	// Address is where to listen; empty: a free port of loopback.
	Address string
	// Message returns message n of a sender, which holds one sample of one series, at n
	// seconds past Epoch with the value n.
	Message func(n int) []byte
	// Garbage is messages that must do no harm. None of them may hold a sample of Message's series.
	Garbage [][]byte
	// Dial connects to the receiver; nil: net.Dial.
	Dial func(t testing.TB, r receivers.Receiver) net.Conn
}

// waitFor bounds every wait of the suite.
const waitFor = 20 * time.Second

// Run runs the suite on loopback.
func Run(t *testing.T, c Case) {
	for _, s := range []struct {
		name string
		run  func(*testing.T, Case)
	}{
		{"serves", serves},
		{"stops and frees its address", stops},
		{"stores what it has read before it stops", drains},
		{"stops though the sink does not return", stopsStalled},
		{"says that its address is taken", taken},
		{"survives garbage", garbage},
		{"keeps order", order},
		{"sheds and counts when the sink is slow", sheds},
		{"refuses series over the limit", limits},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(t, c) })
	}
}

// A Running is a receiver that serves into a Recorder.
type Running struct {
	receivers.Receiver
	Recorder *Recorder

	t      testing.TB
	c      Case
	cancel context.CancelFunc
	err    chan error
	conn   net.Conn
}

// Start makes a receiver of c and serves. When the test ends the receiver is stopped, and the test
// fails if it leaves a goroutine behind.
func Start(t testing.TB, c Case, rec *Recorder, change func(*receivers.Config)) *Running {
	t.Helper()
	// What a receiver starts inherits this label: so its goroutines are told from others'.
	id := fmt.Sprintf("%s %d", t.Name(), started.Add(1))
	labels := pprof.Labels(labelKey, id)
	cfg := receivers.Config{
		Address: c.Address,
		Options: c.Options,
		Now:     func() time.Time { return time.Unix(Now, 0) },
		Logger:  slog.New(slog.NewTextHandler(testWriter{t}, nil)),
	}
	if cfg.Address == "" {
		cfg.Address = "127.0.0.1:0"
	}
	if change != nil {
		change(&cfg)
	}
	var r receivers.Receiver
	var err error
	pprof.Do(context.Background(), labels, func(context.Context) { r, err = c.Protocol.New(cfg, rec) })
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	run := &Running{Receiver: r, Recorder: rec, t: t, c: c, cancel: cancel, err: make(chan error, 1)}
	go pprof.Do(ctx, labels, func(ctx context.Context) { run.err <- r.Serve(ctx) })
	t.Cleanup(func() {
		if run.conn != nil {
			_ = run.conn.Close() // it has served
		}
		run.Stop()
		eventually(t, "no goroutine is left", func() bool { return !labelled(t, id) })
	})
	return run
}

const labelKey = "receivertest"

// started makes the labels of receivers differ.
var started atomic.Int64

// labelled reports whether there is a goroutine with the label id.
func labelled(t testing.TB, id string) bool {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		t.Fatal(err)
	}
	return strings.Contains(b.String(), fmt.Sprintf("%q:%q", labelKey, id))
}

// Stop ends Serve and waits for it. It may be called more than once.
func (r *Running) Stop() {
	r.t.Helper()
	if r.cancel == nil {
		return
	}
	r.cancel()
	r.cancel = nil
	select {
	case err := <-r.err:
		if err != nil {
			r.t.Errorf("serve: %v", err)
		}
	case <-time.After(waitFor):
		buf := make([]byte, 1<<20)
		r.t.Fatalf("serve does not return:\n%s", buf[:runtime.Stack(buf, true)])
	}
}

// Send sends messages to the receiver, over one connection.
func (r *Running) Send(messages ...[]byte) {
	r.t.Helper()
	if r.conn == nil {
		if r.c.Dial != nil {
			r.conn = r.c.Dial(r.t, r.Receiver)
		} else {
			conn, err := net.Dial(r.c.Protocol.Network, r.Addr().String())
			if err != nil {
				r.t.Fatal(err)
			}
			r.conn = conn
		}
	}
	for _, m := range messages {
		if _, err := r.conn.Write(m); err != nil {
			r.t.Fatalf("send %d bytes: %v", len(m), err)
		}
	}
}

// Until waits until cond is true of what the Recorder was given.
func (r *Running) Until(what string, cond func(State) bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitFor)
	defer cancel()
	if err := r.Recorder.Until(ctx, cond); err != nil {
		r.t.Fatalf("%s: not within %v; %+v", what, waitFor, r.Stats())
	}
}

// UntilSamples waits for n samples.
func (r *Running) UntilSamples(n int) []Sample {
	r.t.Helper()
	r.Until(fmt.Sprintf("%d samples", n), func(s State) bool { return len(s.Samples) >= n })
	return r.Recorder.Samples()
}

func serves(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	for n := range 10 {
		r.Send(c.Message(n))
		check(t, r.UntilSamples(n + 1)[n], n)
	}
	s := r.Recorder.Series()
	if len(s) != 1 {
		t.Fatalf("%d series, want 1: %v", len(s), s)
	}
	if want := c.Protocol.Name + "/"; !strings.HasPrefix(s[0].Path, want) {
		t.Errorf("series %q, want one below %q", s[0].Path, want)
	}
	r.Stop()
	if st := r.Stats(); st.Samples != 10 || st.Packets < 10 || st.Bytes == 0 || st.Dropped != [receivers.NumReasons]uint64{} {
		t.Errorf("stats %+v, want 10 samples and no drop", st)
	}
}

func check(t *testing.T, s Sample, n int) {
	t.Helper()
	if want := rra.Seconds(Epoch + int64(n)); s.At != want {
		t.Fatalf("sample %d is at %v, want %v", n, s.At.Std(), want.Std())
	}
	if len(s.Values) != 1 || s.Values[0] != rra.Float(float64(n)) && s.Values[0] != rra.Int(int64(n)) && s.Values[0] != rra.Uint(uint64(n)) {
		t.Fatalf("sample %d has the values %v, want %d", n, s.Values, n)
	}
}

func stops(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	r.Send(c.Message(0))
	r.UntilSamples(1)
	addr := r.Addr().String()
	r.Stop()
	if err := r.Close(); err != nil {
		t.Errorf("close after serve: %v", err)
	}
	again := c
	again.Address = addr
	Start(t, again, new(Recorder), nil).Stop()
}

func drains(t *testing.T, c Case) {
	rec := new(Recorder)
	r := Start(t, c, rec, nil)
	r.Send(c.Message(0))
	r.UntilSamples(1)
	release := rec.Stall()
	defer release()
	r.Send(c.Message(1))
	r.Until("a batch is on its way", func(s State) bool { return s.Waiting > 0 })
	r.cancel()
	release()
	r.Stop()
	if got := rec.Samples(); len(got) != 2 {
		t.Errorf("%d samples after the stop, want 2", len(got))
	}
}

func stopsStalled(t *testing.T, c Case) {
	rec := new(Recorder)
	r := Start(t, c, rec, func(cfg *receivers.Config) { cfg.Grace = time.Millisecond })
	defer rec.Stall()()
	r.Send(c.Message(0))
	r.Until("a batch is on its way", func(s State) bool { return s.Waiting > 0 })
	r.Stop()
	if st := r.Stats(); st.Dropped[receivers.Failed] != 1 {
		t.Errorf("stats %+v, want one sample failed", st)
	}
}

func taken(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	addr := r.Addr().String()
	r2, err := c.Protocol.New(receivers.Config{Address: addr, Options: c.Options}, new(Recorder))
	if err == nil {
		_ = r2.Close() // the test has failed
		t.Fatalf("a second receiver at %s opens", addr)
	}
	if !strings.Contains(err.Error(), addr) {
		t.Errorf("error %q does not name %s", err, addr)
	}
}

// garbageEvery is how many pieces of garbage are sent before one message is waited for: few enough
// for the smallest socket buffer.
const garbageEvery = 16

func garbage(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	messages := append([][]byte{{}}, c.Garbage...)
	for _, m := range c.Garbage {
		for range 4 {
			m := append([]byte(nil), m...)
			for range 1 + rnd.IntN(8) {
				if len(m) > 0 {
					m[rnd.IntN(len(m))] ^= 1 << rnd.IntN(8)
				}
			}
			messages = append(messages, m[:len(m)-rnd.IntN(1+len(m)/2)*rnd.IntN(2)])
		}
	}
	for range 500 {
		m := make([]byte, rnd.IntN(200))
		for i := range m {
			m[i] = byte(rnd.Uint32() >> rnd.IntN(25))
		}
		messages = append(messages, m)
	}
	r.Send(c.Message(0))
	path := r.UntilSamples(1)[0].Path
	good := 1
	for i, m := range messages {
		r.Send(m)
		if c.Protocol.Network == "tcp" { // a stream does not recover: a peer each
			_ = r.conn.Close()
			r.conn = nil
		}
		if i%garbageEvery == 0 || i == len(messages)-1 {
			r.Send(c.Message(good))
			at := rra.Seconds(Epoch + int64(good))
			r.Until("the message after garbage", func(s State) bool {
				for i := len(s.Samples) - 1; i >= 0; i-- {
					if s.Samples[i].Path == path {
						return s.Samples[i].At == at
					}
				}
				return false
			})
			good++
		}
	}
	st := r.Stats()
	var dropped uint64
	for _, n := range st.Dropped {
		dropped += n
	}
	if dropped == 0 {
		t.Errorf("stats %+v: no drop was counted", st)
	}
	for reason := range receivers.NumReasons {
		if n := st.Dropped[reason]; n > 0 {
			t.Logf("%v: %d", reason, n)
		}
	}
}

func order(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	const most, window = 3000, 100
	for n := 0; n < most; n += window {
		for i := range window {
			r.Send(c.Message(n + i))
		}
		r.UntilSamples(n + window)
	}
	for n, s := range r.Recorder.Samples() {
		check(t, s, n)
	}
}

func sheds(t *testing.T, c Case) {
	rec := new(Recorder)
	r := Start(t, c, rec, func(cfg *receivers.Config) { cfg.InFlight = 1 })
	r.Send(c.Message(0))
	r.UntilSamples(1)
	release := rec.Stall()
	defer release()
	sent, window := uint64(1), uint64(100)
	for r.Stats().Dropped[receivers.Overload] == 0 {
		if sent > 1_000_000 {
			t.Fatalf("%d messages and nothing was shed: %+v", sent, r.Stats())
		}
		for range window {
			r.Send(c.Message(int(sent)))
			sent++
		}
		if c.Protocol.Network == "udp" {
			eventually(t, "what was sent is read", func() bool {
				s := r.Stats()
				return s.Packets+s.KernelDropped >= sent
			})
		}
	}
	release()
	// Until the first batch has come back it goes on shedding.
	for shed := true; shed; {
		before := r.Stats().Dropped[receivers.Overload]
		r.Send(c.Message(int(sent)))
		sent++
		eventually(t, "the message is stored or counted", func() bool {
			s := r.Stats()
			return s.Samples+s.Dropped[receivers.Overload]+s.KernelDropped >= sent
		})
		shed = r.Stats().Dropped[receivers.Overload] > before
	}
	last := int(sent) - 1
	r.Until("the sample after the overload", func(s State) bool {
		return s.Samples[len(s.Samples)-1].At == rra.Seconds(Epoch+int64(last))
	})
	r.Stop()
	st := r.Stats()
	stored := uint64(len(rec.Samples()))
	if st.Samples != stored {
		t.Errorf("%d samples are counted, %d were stored", st.Samples, stored)
	}
	if got := stored + st.Dropped[receivers.Overload] + st.KernelDropped; got != sent {
		t.Errorf("%d sent; %d stored, and with what was counted as lost %d: %+v", sent, stored, got, st)
	}
	at := rra.Time(0)
	for _, s := range rec.Samples() {
		if s.At <= at {
			t.Fatalf("sample at %v after %v", s.At.Std(), at.Std())
		}
		at = s.At
	}
}

func limits(t *testing.T, c Case) {
	rec := &Recorder{MaxSeries: 1}
	// The only series there may be is one that nobody sends.
	if err := rec.Resolve(context.Background(), []receivers.Request{{
		Identity: receivers.Identity{Path: "taken"},
		Define:   func(int64) *rra.Definition { return new(rra.Definition) },
	}}); err != nil {
		t.Fatal(err)
	}
	r := Start(t, c, rec, nil)
	r.Send(c.Message(0), c.Message(1))
	eventually(t, "two samples are refused", func() bool { return r.Stats().Dropped[receivers.Limit] >= 2 })
	if got := rec.Samples(); len(got) != 0 {
		t.Errorf("%d samples stored, want none", len(got))
	}
}

// eventually waits until cond is true of something that gives no sign when it changes.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(waitFor)
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			buf := make([]byte, 1<<20)
			t.Fatalf("%s: not within %v\n%s", what, waitFor, buf[:runtime.Stack(buf, true)])
		}
	}
}

// Hex returns the lines of all files that match the pattern, decoded: captures are kept so.
func Hex(t testing.TB, pattern string) [][]byte {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no file %s (%v)", pattern, err)
	}
	var out [][]byte
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 4<<20)
		for line := 1; sc.Scan(); line++ {
			if strings.HasPrefix(sc.Text(), "#") {
				continue
			}
			b, err := hex.DecodeString(strings.TrimSpace(sc.Text()))
			if err != nil {
				t.Fatalf("%s:%d: %v", name, line, err)
			}
			out = append(out, b)
		}
		if err := sc.Err(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_ = f.Close() // only read
	}
	return out
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(b), "\n"))
	return len(b), nil
}
