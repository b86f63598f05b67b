package mono

import (
	"bytes"
	"context"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// offers are an int that counts, a double that halves nothing, and one that is asleep.
var offers = []Offer{
	{Counter: Counter{Category: GC, Name: "count", Type: Int, Variance: Monotonic}, Bits: 5, Step: 2},
	{Counter: Counter{Category: ThreadPool, Name: "ratio", Type: Double, Unit: Percentage}, Bits: math.Float64bits(0.5), Step: math.Float64bits(-0.25)},
	{Counter: Counter{Category: JIT, Name: "asleep", Type: Word}, Bits: 9, Asleep: true},
	{Counter: Counter{Category: System, Name: "cores", Type: Word}, Bits: 8},
}

func newSender(t testing.TB, d Dialect) *Sender {
	t.Helper()
	s, err := NewSender(d, offers)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSenderRecord: what is recorded is hello and samples of what has changed.
func TestSenderRecord(t *testing.T) {
	var b bytes.Buffer
	if err := newSender(t, PageDialect).Record(&b, Samples{First: rra.Seconds(1_700_000_000), Interval: 500 * time.Millisecond, Count: 4}); err != nil {
		t.Fatal(err)
	}
	r, err := read(nil, b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var got [][]int16
	for i, e := range r.events {
		if e.Event == "sample" {
			if at, ok := TimeOf(e.Ticks); !ok || at != rra.Seconds(1_700_000_000)+rra.Time(500_000*(i-1)) {
				t.Errorf("sample %d is at %v", i-1, at.Std())
			}
			got = append(got, e.Changed)
		}
	}
	if diff := cmp.Diff([][]int16{{0, 1, 2}, {0, 1}, {0, 1}, {0, 1}}, got); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"0": "11", "1": "-0x1p-02", "2": "8"}, r.events[4].Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestNewSenderRefuses(t *testing.T) {
	for name, offers := range map[string][]Offer{
		"one name twice": {offers[0], offers[0]},
		"too many":       make([]Offer, MaxCounters+1),
	} {
		if _, err := NewSender(PageDialect, offers); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// run runs a sender until it ends.
func run(t testing.TB, r *receivertest.Running, s *Sender, when Samples) <-chan error {
	t.Helper()
	conn, err := net.Dial("tcp", r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background(), conn, when) }()
	return ended
}

func wait(t testing.TB, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
		return nil
	}
}

// TestSender: a sender and the receiver understand each other, whatever is asked, in both dialects.
func TestSender(t *testing.T) {
	for _, d := range []Dialect{PageDialect, AgentDialect} {
		t.Run(d.String(), func(t *testing.T) {
			r := start(t, new(receivertest.Recorder), flagDialect.Name, d.String())
			ended := run(t, r, newSender(t, d), Samples{Interval: time.Millisecond})
			r.UntilSamples(15) // five of each
			do := func(want string, args ...string) {
				t.Helper()
				if got := result(t, control(t, r, args...)); got != want {
					t.Errorf("%q:\n%s\nwant:\n%s", args, got, want)
				}
			}
			list := result(t, control(t, r, "list", ""))
			for _, want := range []string{"Mono GC|count|0|int|none|monotonic|", "Mono ThreadPool|ratio|1|double|percentage|variance-0|-", "Mono JIT|asleep|||||\nMono System|cores|2|word|none|variance-0|8"} {
				if !strings.Contains(list, want) {
					t.Errorf("list:\n%s\nwant %q in it", list, want)
				}
			}
			do("Mono JIT|asleep|3|word|none|variance-0", "add", "", "Mono JIT/asleep")
			r.Until("it is sampled", func(s receivertest.State) bool { return len(s.Series) == 4 })
			do("error: agent 127.0.0.1: there is no counter \"Mono JIT/nothing\" (not found)", "add", "", "Mono JIT/nothing")
			do("Mono System|cores|2|word|none|variance-0", "remove", "", "Mono System/cores")
			do("Mono GC|count|0|int|none|monotonic", "remove", "", "0")
			do("Mono System|cores|4|word|none|variance-0", "add", "", "Mono System/cores")
			r.Stop()
			if err := wait(t, ended); err != nil {
				t.Errorf("after good bye: %v", err)
			}
			if st := r.Stats(); st.Dropped != [receivers.NumReasons]uint64{} {
				t.Errorf("stats %+v, want no drop", st)
			}
		})
	}
}

// TestSenderEnds: a sender that has sent everything hangs up, and nothing is lost.
func TestSenderEnds(t *testing.T) {
	rec := new(receivertest.Recorder)
	r := start(t, rec, flagAdd.Name, "Mono JIT/asleep")
	if err := wait(t, run(t, r, newSender(t, PageDialect), Samples{First: rra.Seconds(receivertest.Epoch), Interval: time.Microsecond, Count: 10})); err != nil {
		t.Error(err)
	}
	eventually(t, "it has gone", func() bool { return r.Stats().Connections == 0 })
	r.Stop()
	if n := len(byPath(rec.Samples())["mono/127.0.0.1/Mono GC/count"]); n != 10 {
		t.Errorf("%d samples, want 10", n)
	}
}

// TestSenderIsSentAway: a sender in another dialect sees it by the end of the connection.
func TestSenderIsSentAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // it has served
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- newSender(t, PageDialect).Run(context.Background(), conn, Samples{Interval: time.Millisecond})
	}()
	inspector, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inspector.Write([]byte{0}); err != nil { // the agent's list
		t.Fatal(err)
	}
	if err := wait(t, ended); receivers.ReasonOf(err) != receivers.Unsupported {
		t.Errorf("it ends with %v, want an error of class unsupported", err)
	}
	if err := inspector.Close(); err != nil {
		t.Error(err)
	}
}
