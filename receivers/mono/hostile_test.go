package mono

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// TestHeldByOthers: an agent that announces too much is sent away, and not one that sends a sample
// meanwhile.
func TestHeldByOthers(t *testing.T) {
	rec := new(receivertest.Recorder)
	r := startSink(t, rec, func(s *server) { s.maxHeld = 100 << 10 })
	var cs []Counter
	for i := range int16(200) {
		cs = append(cs, Counter{Category: Custom, Name: fmt.Sprint(strings.Repeat("n", 1000), i), Index: i})
	}
	good := send(t, r, append(suite(t).Opening, message(0)...))
	eventually(t, "it is read", func() bool { return r.Stats().Packets == 2 })
	bad := send(t, r, must(AppendHello(nil, cs)))
	// Until the other hangs up, or is hung up on, it holds what it has announced.
	for n := 1; (r.Stats().Dropped[receivers.Limit] == 0 || r.Stats().Connections == 2) && n < 10_000; n++ {
		if _, err := good.Write(message(n)); err != nil {
			t.Fatalf("message %d of the good agent: %v", n, err)
		}
	}
	untilEnd(t, bad)
	if _, err := good.Write(message(20_000)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the good agent's last sample is stored", func() bool {
		s := rec.Samples()
		return len(s) > 0 && s[len(s)-1].At == rra.Seconds(receivertest.Epoch+20_000)
	})
}

// TestCarriedForwardIsBounded: samples in which nothing has changed cost next to nothing to send.
// What they have stored is limited, and what did change is stored whatever the limit.
func TestCarriedForwardIsBounded(t *testing.T) {
	rec := new(receivertest.Recorder)
	now := time.Unix(receivertest.Epoch+100, 0)
	r := startSink(t, rec, func(s *server) { s.Config.Now = func() time.Time { return now } })
	cs, vs := make([]Counter, MaxCounters), make([]Value, MaxCounters)
	for i := range cs {
		cs[i] = Counter{Category: Custom, Name: fmt.Sprint("c", i), Type: Long, Variance: Variable, Index: int16(i)}
		vs[i] = Value{Index: int16(i), Type: Long, Bits: 1}
	}
	const samples = 3000 // of 4096 values each
	b := must(AppendSample(must(AppendHello(nil, cs)), at(0), vs))
	for n := 1; n < samples; n++ {
		b = must(AppendSample(b, at(0)+int64(n)*10, nil))
	}
	conn := send(t, r, b)
	eventually(t, "all is read", func() bool { return r.Stats().Packets == samples+1 })
	if _, err := conn.Write(must(AppendSample(nil, at(1), []Value{{Index: 7, Type: Long, Bits: 2}}))); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the last is read", func() bool { return r.Stats().Packets == samples+2 })
	r.Stop()
	if n := len(rec.Samples()); n > carriedBurst*carriedRate+MaxCounters+1 || n < MaxCounters {
		t.Errorf("%d samples stored, at most %d may be", n, carriedBurst*carriedRate+MaxCounters+1)
	}
	if st := r.Stats(); st.Dropped[receivers.Limit] == 0 {
		t.Errorf("%+v: nothing was dropped", st)
	}
	s := byPath(rec.Samples())["mono/127.0.0.1/Mono Custom/c7"]
	if last := s[len(s)-1]; last.Values[0] != rra.Int(2) {
		t.Errorf("the last value is %+v, want the one that was sent", last)
	}
}
