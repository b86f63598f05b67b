package receivertest

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/ramtemp"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

var _ = ramtemp.Use() // before any test has a temporary folder

// Run runs the suite on loopback. A receiver of the network "tcp" passes more tests than others;
// one of the network "dir" may share its folder.
//
// A receiver of the network "http" answers each message with success, which means that the sample
// is durable, or says in its answer that it is not. So in some tests it must do more than others.
func Run(t *testing.T, c Case) {
	steps := []step{
		{"serves", serves},
		{"stops and frees its address", stops},
		{"stores what it has read before it stops", drains},
		{"stops though the sink does not return", stopsStalled},
		{"survives garbage", garbage},
		{"keeps order", order},
		{"sheds and counts when the sink is slow", sheds},
		{"refuses series over the limit", limits},
	}
	if c.Protocol.Network == receivers.HTTP {
		steps = httpSteps()
	}
	if n := c.Protocol.Network; n != "dir" && n != receivers.HTTP {
		steps = append(steps, step{"says that its address is taken", taken})
	}
	if c.Protocol.Network == "tcp" {
		steps = append(steps, tcpSteps(c)...)
	}
	if !c.Fixed {
		steps = append(steps, step{"has rows of slow senders", Slow})
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) { s.run(t, c) })
	}
}

func serves(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	for n := range 10 {
		r.Send(c.Message(n))
		c.check(t, r.UntilSamples(n + 1)[n], n)
	}
	s := r.Recorder.Series()
	if len(s) != 1 {
		t.Fatalf("%d series, want 1: %v", len(s), s)
	}
	if want := c.Protocol.PathPrefix() + "/"; !strings.HasPrefix(s[0].Path, want) {
		t.Errorf("series %q, want one below %q", s[0].Path, want)
	}
	r.Stop()
	if st := r.Stats(); st.Samples != 10 || st.Packets < 10 || st.Bytes == 0 || st.Dropped != [receivers.NumReasons]uint64{} {
		t.Errorf("stats %+v, want 10 samples and no drop", st)
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

// garbageEvery is how many pieces of garbage are sent between two good messages that are waited
// for: few enough for the smallest socket buffer.
const garbageEvery = 16

// garbageOf returns the garbage of c, variants of it with flipped bits and cut ends, and random
// bytes.
func garbageOf(t *testing.T, c Case) [][]byte {
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
	return messages
}

func garbage(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	messages := garbageOf(t, c)
	r.Send(c.Message(0))
	path := r.UntilSamples(1)[0].Path
	good := 1
	for i, m := range messages {
		if c.Protocol.Network == "tcp" { // a stream does not recover: a peer each
			r.garbage(m, i%2 == 0)
		} else {
			r.Send(m)
		}
		if i%garbageEvery == 0 || i == len(messages)-1 {
			r.Send(c.Message(good))
			want := good
			r.Until("the message after garbage", func(s State) bool {
				for i := len(s.Samples) - 1; i >= 0; i-- {
					if s.Samples[i].Path == path {
						return number(s.Samples[i]) == want
					}
				}
				return false
			})
			good++
		}
	}
	st := r.Stats()
	if st.Dropped == [receivers.NumReasons]uint64{} {
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
		c.check(t, s, n)
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
		return number(s.Samples[len(s.Samples)-1]) == last
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
	before := -1
	for _, s := range rec.Samples() {
		n := number(s)
		if n <= before {
			t.Fatalf("sample %d after %d", n, before)
		}
		c.check(t, s, n)
		before = n
	}
}

func limits(t *testing.T, c Case) {
	rec := &Recorder{MaxSeries: 1}
	// The only series that the store may have is one that nobody sends.
	if err := rec.Resolve(context.Background(), []receivers.Request{{
		Identity: receivers.Identity{Path: "taken"},
		Define:   func(int64) *rra.Definition { return new(rra.Definition) },
	}}); err != nil {
		t.Fatal(err)
	}
	r := Start(t, c, rec, nil)
	if c.Protocol.Network != receivers.HTTP {
		r.Send(c.Message(0), c.Message(1))
	} else {
		for n := range 2 {
			if a := r.Ask(c.Message(n)); a.Status/100 != 4 || a.Text == "" {
				t.Errorf("the answer is %d %q, want 4xx and a text", a.Status, a.Text)
			}
		}
	}
	eventually(t, "two samples are refused", func() bool { return r.Stats().Dropped[receivers.Limit] >= 2 })
	if got := rec.Samples(); len(got) != 0 {
		t.Errorf("%d samples stored, want none", len(got))
	}
}
