package gmetric

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// TestHeld: a value waits for its metadata, the newest one of a metric, and keeps the time of its
// arrival.
func TestHeld(t *testing.T) {
	r := run(t, new(receivertest.Recorder), nil)
	r.send(value("h", "m", "1"))
	r.clock.Add(5)
	r.send(value("h", "m", "2"), value("h", "other", "9"))
	r.clock.Add(24)
	until(t, "the value before is dropped", func() bool { return r.Stats().Dropped[receivers.State] == 1 })
	r.send(meta("h", "m", "uint32", Positive))
	r.UntilSamples(1)
	r.clock.Add(1)
	r.send(value("h", "m", "3"))
	got := r.UntilSamples(2)
	want := []receivertest.Sample{
		{Path: "ganglia/h/m", At: rra.Seconds(began + 5), Values: []rra.Value{rra.Uint(2)}},
		{Path: "ganglia/h/m", At: rra.Seconds(began + 30), Values: []rra.Value{rra.Uint(3)}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	r.Stop() // what is still held is dropped
	if st := r.Stats(); st.Dropped[receivers.State] != 2 || len(r.Recorder.Samples()) != 2 {
		t.Errorf("%+v, want the value that is held dropped", st)
	}
}

// TestHeldDefaults: metadata that does not come is assumed after 30 s, and then values are taken at
// once.
func TestHeldDefaults(t *testing.T) {
	r := run(t, new(receivertest.Recorder), nil)
	typed := value("h", "typed", "")
	typed.Word, typed.Number = WordFloat, rra.Float(1.5)
	r.send(value("h", "m", "17"), value("h", "text", "seventeen"), typed)
	r.clock.Add(29)
	r.send(value("h", "late", "4"))
	until(t, "all is read", func() bool { return r.Stats().Packets == 4 })
	if n := len(r.Recorder.Samples()); n != 0 {
		t.Fatalf("%d samples after 29 s", n)
	}
	r.clock.Add(1)
	got := r.UntilSamples(2) // though nothing arrives
	slices.SortFunc(got, func(a, b receivertest.Sample) int { return strings.Compare(a.Path, b.Path) })
	want := []receivertest.Sample{
		{Path: "ganglia/h/m", At: rra.Seconds(began), Values: []rra.Value{rra.Float(17)}},
		{Path: "ganglia/h/typed", At: rra.Seconds(began), Values: []rra.Value{rra.Float(1.5)}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	r.described("the text is kept", "ganglia/h/text", func(md core.Metadata) bool { return md.Text == "seventeen" })
	r.send(value("h", "m", "18"))
	r.UntilSamples(3)
	if ds := r.Recorder.Series()[0].Definition.Sources[0]; ds.Kind != rra.Gauge || ds.Heartbeat != 240 {
		t.Errorf("data source %+v, want a GAUGE with heartbeat 240", ds)
	}
	md := r.described("what was assumed is kept", "ganglia/h/typed", func(md core.Metadata) bool { return md.Time != 0 })
	if attribute(md, "type") != "float" || attribute(md, "slope") != "both" || attribute(md, "tmax") != "60" {
		t.Errorf("metadata %+v", md)
	}
	// When metadata comes after all, the kind stays and the labels change.
	m := meta("h", "m", "uint32", Positive)
	m.Units = []byte("n")
	r.send(m, value("h", "m", "19"))
	r.UntilSamples(4)
	until(t, "the labels change", func() bool { return r.calls.relabelled.Load() == 1 })
	if s := r.Recorder.Series()[0]; s.Definition.Sources[0].Kind != rra.Gauge {
		t.Errorf("series %+v", s)
	}
	if diff := cmp.Diff([]rra.Value{rra.Float(17), rra.Float(18), rra.Float(19)}, r.samplesOf("ganglia/h/m")); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// TestHeldMost: so many values are held, and no more.
func TestHeldMost(t *testing.T) {
	const more = 10
	r := run(t, new(receivertest.Recorder), nil)
	sent := uint64(0)
	for i := range maxHeld + more {
		r.Send(example(t, value("h", fmt.Sprint(i), "1")))
		if sent++; sent%100 == 0 {
			until(t, "what was sent is read", func() bool { return r.Stats().Packets == sent })
		}
	}
	until(t, "the rest is dropped", func() bool { return r.Stats().Dropped[receivers.Limit] == more })
	r.clock.Add(30)
	r.UntilSamples(maxHeld)
}

// TestRestart: a receiver that starts over takes values at once, of what the store keeps.
func TestRestart(t *testing.T) {
	rec := new(receivertest.Recorder)
	r := run(t, rec, nil)
	m := meta("h", "m", "uint32", Positive)
	m.DMax = 600
	m.Extra = []Pair{{[]byte("GROUP"), []byte("g")}}
	s := meta("h", "s", "string", Both)
	r.send(m, value("h", "m", "1"), meta("h", "never", "int32", Derivative), s, value("h", "s", "text"))
	r.UntilSamples(1)
	r.Stop()

	r = runOf(t, rec, nil, began+10, nil)
	r.send(value("h", "m", "2"), value("h", "never", "-3"), value("h", "s", "text"))
	r.UntilSamples(3)
	if diff := cmp.Diff([]rra.Value{rra.Int(-3)}, r.samplesOf("ganglia/h/never")); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if k := rec.Series()[1].Definition.Sources[0].Kind; k != rra.Derive {
		t.Errorf("a series made of what the store keeps is a %v, want DERIVE", k)
	}
	// Metadata that comes again is known.
	r.send(m, value("h", "m", "3"), s)
	r.UntilSamples(4)
	r.Stop()
	if n := r.calls.described.Load(); n != 0 {
		t.Errorf("%d paths were described again, want none", n)
	}
	if n := r.calls.relabelled.Load(); n != 0 {
		t.Errorf("%d series were relabelled, want none", n)
	}

	// The same where metadata comes first; and where it has changed it is kept.
	r = runOf(t, rec, nil, began+20, nil)
	r.send(m, value("h", "m", "4"))
	r.UntilSamples(5)
	changed := meta("h", "never", "int32", Derivative)
	changed.Units = []byte("n")
	r.send(changed, value("h", "never", "4"))
	r.UntilSamples(6)
	r.described("it has units", "ganglia/h/never", func(md core.Metadata) bool { return attribute(md, "units") == "n" })
	until(t, "it is relabelled", func() bool { return r.calls.relabelled.Load() == 1 })
	r.Stop()
	if n := r.calls.described.Load(); n != 1 {
		t.Errorf("%d paths were described, want 1", n)
	}
}

// TestRepeated: metadata that stays the same costs the store nothing.
func TestRepeated(t *testing.T) {
	r := run(t, new(receivertest.Recorder), nil)
	old := Message{Word: WordGmetric, Type: []byte("int8"), Name: []byte("old"), Text: []byte("1"), Units: []byte("n")}
	core := Message{Word: 15, Number: rra.Float(0.25)}
	for i := range 50 {
		old.Text = fmt.Appendf(nil, "%d", i)
		r.send(meta("h", "m", "int32", Both), value("h", "m", fmt.Sprint(i)), old, core,
			meta("h", "s", "string", Both), value("h", "s", "same"))
		r.clock.Add(1)
	}
	r.UntilSamples(150)
	r.Stop()
	// The text may come after its metadata has been handed over.
	if n := r.calls.described.Load(); n < 4 || n > 5 {
		t.Errorf("%d descriptions, want one of each metric", n)
	}
	if n := r.calls.read.Load(); n != 4 {
		t.Errorf("%d times the store was asked, want once a metric", n)
	}
	if n := r.calls.resolved.Load(); n != 3 {
		t.Errorf("%d series were resolved, want 3", n)
	}
	if n := r.calls.relabelled.Load(); n != 0 {
		t.Errorf("%d were relabelled", n)
	}
}

// TestChanged: changed metadata changes labels and expiry of a series; kind, step and heartbeat
// stay, and values go on under the kind that it has.
func TestChanged(t *testing.T) {
	r := run(t, new(receivertest.Recorder), nil)
	m := meta("h", "m", "uint32", Positive)
	r.send(m, value("h", "m", "1"))
	r.UntilSamples(1)
	m.Slope, m.Type, m.TMax, m.DMax, m.Units = Both, []byte("float"), 600, 1000, []byte("new")
	r.send(m)
	md := r.described("it has changed", "ganglia/h/m", func(md core.Metadata) bool { return attribute(md, "units") == "new" })
	if md.Expire != 1000 || attribute(md, "slope") != "both" || attribute(md, "type") != "float" {
		t.Errorf("metadata %+v", md)
	}
	until(t, "the labels change", func() bool { return r.calls.relabelled.Load() == 1 })
	r.clock.Add(1)
	r.send(value("h", "m", "2"), value("h", "m", "2.5"))
	r.UntilSamples(2)
	s := r.Recorder.Series()[0]
	if ds := s.Definition.Sources[0]; ds.Kind != rra.Counter || ds.Heartbeat != 240 || s.Definition.Step != 15 {
		t.Errorf("definition %+v, want it as it was", s.Definition)
	}
	if !slices.Contains(s.Labels, core.Label{Name: "units", Value: "new"}) || !slices.Contains(s.Labels, core.Label{Name: "type", Value: "float"}) {
		t.Errorf("labels %v", s.Labels)
	}
	if diff := cmp.Diff([]rra.Value{rra.Uint(1), rra.Uint(2)}, r.samplesOf("ganglia/h/m")); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	until(t, "the fraction is dropped", func() bool { return r.Stats().Dropped[receivers.Malformed] == 1 })
}

// TestText: the newest text is kept; one that stays the same is handed over again only so often
// that its time shows that it still comes.
func TestText(t *testing.T) {
	r := run(t, new(receivertest.Recorder), nil)
	const path = "ganglia/h/m"
	m := meta("h", "m", "string", Zero)
	m.Units = []byte("u")
	r.send(m, value("h", "m", "one"), value("h", "m", "two\xff"))
	is := func(text string, at int64) func(core.Metadata) bool {
		return func(md core.Metadata) bool { return md.Text == text && md.Time == rra.Seconds(at) }
	}
	md := r.described("two", path, is("two\uFFFD", began))
	if attribute(md, "units") != "u" {
		t.Errorf("metadata %+v", md)
	}
	before := r.calls.described.Load()
	r.clock.Add(59)
	r.send(value("h", "m", "two\xff"), value("h", "other", "x"), meta("h", "other", "string", Zero))
	r.described("the other", "ganglia/h/other", is("x", began+59))
	if n := r.calls.described.Load() - before; n != 1 {
		t.Errorf("%d descriptions, want only the other's", n)
	}
	r.clock.Add(1)
	r.send(value("h", "m", "two\xff"))
	r.described("it is refreshed", path, is("two\uFFFD", began+60))
	// Changed metadata keeps the text, and a short dmax refreshes it more often.
	m.DMax = 10
	r.send(m)
	r.described("changed", path, func(md core.Metadata) bool { return md.Expire == 10 && md.Text == "two\uFFFD" })
	r.clock.Add(1)
	r.send(value("h", "m", "three"))
	r.described("three", path, is("three", began+61))
	r.clock.Add(5)
	r.send(value("h", "m", "three"))
	r.described("three again", path, is("three", began+66))
	if n := len(r.Recorder.Series()); n != 0 {
		t.Errorf("%d series, want none", n)
	}
}

// TestTextOrNumber: a metric whose type says nothing is what it reads as; both are kept.
func TestTextOrNumber(t *testing.T) {
	r := run(t, new(receivertest.Recorder), nil)
	r.send(meta("h", "m", "", Both), value("h", "m", "starting"))
	r.described("a text", "ganglia/h/m", func(md core.Metadata) bool { return md.Text == "starting" })
	r.send(value("h", "m", "12"))
	r.UntilSamples(1)
	changed := meta("h", "m", "", Both)
	changed.Units = []byte("u")
	r.send(changed)
	r.described("the text stays", "ganglia/h/m", func(md core.Metadata) bool {
		return md.Text == "starting" && attribute(md, "units") == "u"
	})
	typed := value("h", "t", "")
	typed.Word, typed.Number = WordInt, rra.Int(-5)
	r.send(meta("h", "t", "string", Both), typed)
	r.described("a number of a metric of texts", "ganglia/h/t", func(md core.Metadata) bool { return md.Text == "-5" })
}

// TestHeartbeat: it says that a host lives, and is no series.
func TestHeartbeat(t *testing.T) {
	r := run(t, new(receivertest.Recorder), nil)
	typed := value("h", "heartbeat", "")
	typed.Word, typed.Number = WordUint, rra.Uint(1700000000)
	spoofed := value("10.0.0.1:s", "heartbeat", "0")
	spoofed.Spoof = true
	r.send(typed, spoofed, Message{Word: 26, Number: rra.Uint(1)}, meta("g", "heartbeat", "uint32", Unspecified), value("g", "heartbeat", "0"))
	for _, host := range []string{"h", "s", "127.0.0.1", "g"} {
		md := r.described("is noted", "ganglia/"+host+"/heartbeat", func(md core.Metadata) bool { return md.Time == rra.Seconds(began) })
		if md.Text != "" {
			t.Errorf("%s: text %q", host, md.Text)
		}
		if want := map[string]string{"127.0.0.1": "20", "g": "60"}[host]; attribute(md, "tmax") != want {
			t.Errorf("%s: %+v, want tmax %s", host, md, want)
		}
	}
	r.clock.Add(59)
	r.send(typed)
	r.clock.Add(1)
	r.send(typed)
	r.described("is noted again", "ganglia/h/heartbeat", func(md core.Metadata) bool { return md.Time == rra.Seconds(began+60) })
	r.Stop()
	// One may be noted after its metadata has been handed over.
	if n := r.calls.described.Load(); n < 5 || n > 6 {
		t.Errorf("%d descriptions, want 5", n)
	}
	if st := r.Stats(); len(r.Recorder.Series()) != 0 || st.Dropped != [receivers.NumReasons]uint64{} {
		t.Errorf("%v, %+v; want no series and no drop", r.Recorder.Series(), st)
	}
}

// TestExpired: a metric that was silent for its dmax is forgotten; its metadata must come again.
func TestExpired(t *testing.T) {
	r := run(t, new(receivertest.Recorder), nil)
	m := meta("h", "m", "uint32", Positive)
	m.DMax = 100
	r.send(m, value("h", "m", "1"))
	r.clock.Add(100)
	r.send(value("h", "m", "2"))
	r.UntilSamples(2)
	r.clock.Add(101)
	r.send(value("h", "m", "3")) // is held
	until(t, "it is read", func() bool { return r.Stats().Packets == 4 })
	r.clock.Add(1)
	r.send(value("h", "m", "4"))
	until(t, "the newer one is held", func() bool { return r.Stats().Dropped[receivers.State] == 1 })
	before := r.calls.described.Load()
	r.send(m)
	r.UntilSamples(3)
	until(t, "it is described again", func() bool { return r.calls.described.Load() > before })
	if diff := cmp.Diff([]rra.Value{rra.Uint(1), rra.Uint(2), rra.Uint(4)}, r.samplesOf("ganglia/h/m")); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	// Without metadata the default is assumed, not what the store may still have.
	r.clock.Add(101)
	r.send(value("h", "m", "5"))
	until(t, "it is read", func() bool { return r.Stats().Packets == 7 })
	r.clock.Add(30)
	r.UntilSamples(4)
	md := r.described("the default", "ganglia/h/m", func(md core.Metadata) bool { return attribute(md, "slope") == "both" })
	if md.Expire != 0 {
		t.Errorf("metadata %+v", md)
	}
}

// TestStale: references that the store has refused are resolved again.
func TestStale(t *testing.T) {
	store := enginetest.Open(t)
	r, err := newServer(receivers.Config{Address: "127.0.0.1:0"}, sink.New(store, sink.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	conn, err := net.Dial("udp", r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // sent
	const path = "ganglia/127.0.0.1/suite"
	exists := func() bool {
		if _, err := conn.Write(message(t, 1)); err != nil {
			t.Fatal(err)
		}
		_, err := store.Lookup(path)
		return err == nil
	}
	until(t, "the series is made", exists)
	if err := core.Drop(t.Context(), store, path); err != nil {
		t.Fatal(err)
	}
	until(t, "it is made again", exists)
	until(t, "its metadata is kept", func() bool {
		md, err := store.Metadata(path)
		return err == nil && attribute(md, "units") == "n"
	})
}

// TestFull: a cache that is full starts over, and what it knew is read back.
func TestFull(t *testing.T) {
	r := runOf(t, new(receivertest.Recorder), nil, began, func(s *server) { s.cache.Most = 10 })
	const metrics = 25
	for i := range metrics {
		name := fmt.Sprint(i)
		r.send(meta("h", name, "uint32", Positive), value("h", name, "1"))
		r.described("it is kept", "ganglia/h/"+name, func(md core.Metadata) bool { return md.Time != 0 })
	}
	r.UntilSamples(metrics)
	r.clock.Add(1)
	for i := range metrics { // without metadata
		r.send(value("h", fmt.Sprint(i), "2"))
	}
	r.UntilSamples(2 * metrics)
	if n := len(r.Recorder.Series()); n != metrics {
		t.Errorf("%d series, want %d", n, metrics)
	}
	for _, s := range r.Recorder.Samples() {
		if s.Values[0].Tag != rra.TagUint {
			t.Errorf("%s has %v, want a whole number", s.Path, s.Values)
		}
	}
}

// TestFailing: a store that fails costs what arrives meanwhile, counted; then it goes on.
func TestFailing(t *testing.T) {
	r := run(t, new(receivertest.Recorder), nil)
	r.calls.setFailure(errors.New("out of order"))
	r.send(meta("h", "m", "uint32", Positive), value("h", "m", "1"))
	dropped := func(n uint64) func() bool {
		return func() bool {
			st := r.Stats()
			return st.Dropped[receivers.Overload]+st.Dropped[receivers.Failed] == n
		}
	}
	until(t, "what follows a failure is shed", dropped(1))
	r.clock.Add(2)
	r.send(value("h", "m", "2"))
	until(t, "it fails again", dropped(2))
	r.calls.setFailure(nil)
	r.clock.Add(2)
	r.send(value("h", "m", "3"))
	if got := r.UntilSamples(1)[0]; got.Values[0] != rra.Uint(3) {
		t.Errorf("%v, want 3", got)
	}
	r.described("it is kept", "ganglia/h/m", func(md core.Metadata) bool { return attribute(md, "slope") == "positive" })
}

// TestSenderLimit: series and texts are counted against the address that they come from, whoever it
// claims to be.
func TestSenderLimit(t *testing.T) {
	store := enginetest.Open(t)
	sink := &calls{Sink: sink.New(store, sink.Options{SenderBurst: 3, SenderRate: 1})}
	s := offline(sink, receivers.Config{})
	for i := range 10 {
		host := fmt.Sprintf("10.0.0.%d:host%d", i, i)
		m, v := meta(host, "m", "int32", Both), value(host, "m", "1")
		m.Spoof, v.Spoof = true, true
		s.feed(t, m, v)
	}
	s.close()
	if st, got := s.Stats(), store.Stats().Series; got != 3 || st.Dropped[receivers.Limit] < 7 {
		t.Errorf("%d series, %+v; want 3 and the rest refused", got, st)
	}
}

// TestAddresses: addresses as hosts.
func TestAddresses(t *testing.T) {
	var s sender
	for _, text := range []string{"127.0.0.1", "10.1.2.3", "2001:db8::1", "fe80::1%eth0"} {
		if s.set(address(text)); string(s.host()) != text {
			t.Errorf("%s: %s", text, s.host())
		}
	}
	if strings.Contains(string(s.host()), "10.") {
		t.Error("the one before is left")
	}
}

// TestExpireFlag: what becomes of an expired series is kept with its metadata, and changes with the
// flag.
func TestExpireFlag(t *testing.T) {
	rec := new(receivertest.Recorder)
	m := meta("h", "m", "uint32", Positive)
	m.DMax = 600
	s := meta("h", "s", "string", Positive)
	s.DMax = 600
	for i, expire := range []string{"keep", "delete", "keep"} {
		r := runOf(t, rec, map[string][]string{flagExpire.Name: {expire}}, began+int64(i), nil)
		if i == 0 {
			r.send(m, s)
		}
		r.send(value("h", "m", fmt.Sprint(i)), value("h", "s", "text"))
		r.UntilSamples(i + 1)
		for _, path := range []string{"ganglia/h/m", "ganglia/h/s"} {
			md := r.described(expire, path, func(md core.Metadata) bool {
				return md.Time != 0 && (attribute(md, attrExpiry) == expiryDelete) == (expire == expiryDelete)
			})
			if want := map[string]string{"ganglia/h/s": "text"}[path]; md.Text != want && i > 0 {
				t.Errorf("%s: text %q, want %q", path, md.Text, want)
			}
		}
		r.Stop()
	}
}
