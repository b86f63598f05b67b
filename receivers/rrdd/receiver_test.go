package rrdd

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// TestReceiveCaptures: every capture through the receiver: what the manifest says, or the error it
// names.
func TestReceiveCaptures(t *testing.T) {
	for _, types := range vocabularyWords {
		t.Run(types, func(t *testing.T) {
			for _, c := range readManifest(t).Files {
				r := start(t, func(cfg *receivers.Config) {
					option(flagTypes, types)(cfg)
					cfg.MaxFuture = -1 // some were written after the clock of the tests
				}, nil)
				write(t, r.Receiver, c.Plugin, capture(t, c.File))
				turn(t, r.Receiver)
				turn(t, r.Receiver)
				var want, got []string
				for _, s := range c.Expected.DS {
					kind := map[string]string{"auto": s.KindAuto, "legacy": s.KindLegacy, "modern": s.KindModern}[types]
					value := bits(s.Value)
					if s.Value == "NaN" {
						value = "unknown"
					}
					want = append(want, fmt.Sprintf("%s %s at %.6f: %s, %v %v", s.Series, kind, c.Expected.Timestamp, value, bits(s.Min), bits(s.Max)))
				}
				all := r.UntilSamples(len(want))
				for i, s := range r.Recorder.Series() {
					ds := s.Definition.Sources[0]
					value := "unknown"
					if v := all[i].Values[0]; v != rra.Unknown {
						value = bits(v)
					}
					lo, hi := ds.Min, ds.Max
					if math.IsNaN(lo) {
						lo = -inf
					}
					if math.IsNaN(hi) {
						hi = inf
					}
					got = append(got, fmt.Sprintf("%s %s at %.6f: %s, %s %s", s.Path, kindNames[ds.Kind], float64(all[i].At)/1e6, value, bits(lo), bits(hi)))
				}
				equal(t, c.File, want, got)
				wantDrops := ""
				if e := c.Expected.Error; e != "" && !strings.Contains(c.File, "open") {
					wantDrops = e + " 2"
				}
				equal(t, c.File+": drops", wantDrops, drops(r))
			}
		})
	}
}

// TestTimeRules: the time of a sample is the file's, or else the time of reading.
func TestTimeRules(t *testing.T) {
	r := start(t, nil, nil)
	now := float64(receivertest.Now)
	for i, test := range []struct {
		timestamp float64
		want      float64
		counted   bool
	}{
		{receivertest.Epoch + 0.25, receivertest.Epoch + 0.25, false},
		{receivertest.Epoch + 1.0000004, receivertest.Epoch + 1, false},
		{receivertest.Epoch + 1.9999996, receivertest.Epoch + 2, false},
		{946684800, 946684800, false},
		{946684799, now, true},
		{0, now, true},
		{-5, now, true},
		{1e17, now, true},
		{now + 3600, now + 3600, false},
		{now + 3601, now, true},
	} {
		before := r.Stats().Dropped[receivers.State]
		f := gauges(0, float64(i), "a")
		f.Timestamp = test.timestamp
		write(t, r.Receiver, "p", encode(t, f))
		turn(t, r.Receiver)
		got := r.UntilSamples(i + 1)[i]
		if want := rra.Time(math.Round(test.want * 1e6)); got.At != want || got.Values[0] != rra.Float(float64(i)) {
			t.Errorf("%v: %v at %v, want %v", test.timestamp, got.Values, got.At.Std(), want.Std())
		}
		if counted := r.Stats().Dropped[receivers.State] > before; counted != test.counted {
			t.Errorf("%v: counted: %t", test.timestamp, counted)
		}
	}
	write(t, r.Receiver, "p", v1(`{"timestamp": NaN, "datasources": {"a": {"value": 5}}}`))
	turn(t, r.Receiver)
	all := r.Recorder.Samples()
	if got := all[len(all)-1]; got.At != rra.Seconds(receivertest.Now) {
		t.Errorf("NaN: %v", got.At.Std())
	}
}

// TestOnlyDefault: what is not marked is not stored, and not counted as lost.
func TestOnlyDefault(t *testing.T) {
	r := start(t, option(flagOnlyDefault, "true"), nil)
	f := gauges(0, 1, "a", "b")
	f.Sources[1].Default = true
	write(t, r.Receiver, "p", encode(t, f))
	turn(t, r.Receiver)
	f.Timestamp++
	f.Sources[0].Default = true
	write(t, r.Receiver, "p", encode(t, f))
	turn(t, r.Receiver)
	equal(t, "samples", []string{"rrdd/p/host/a 1 1", "rrdd/p/host/b 0 1", "rrdd/p/host/b 1 1"}, samples(t, r, 0))
	equal(t, "drops", "", drops(r))
	if n := len(r.Recorder.Series()); n != 2 {
		t.Errorf("%d series", n)
	}
}

// TestKindStays: the kind of a series follows from its first sample. A word that says another is
// refused; one that alone says nothing goes by the series.
func TestKindStays(t *testing.T) {
	r := start(t, nil, nil)
	put := func(n int, sources ...Source) {
		t.Helper()
		f := &File{Timestamp: float64(receivertest.Epoch + n), Sources: sources}
		for _, s := range sources {
			if s.ValueType == Int64 {
				f.Values = append(f.Values, rra.Int(1<<53+1))
			} else {
				f.Values = append(f.Values, rra.Float(0.5))
			}
		}
		write(t, r.Receiver, "p", encode(t, f))
		turn(t, r.Receiver)
	}
	a := Source{Name: "a", Type: Absolute}
	d := Source{Name: "d", Type: AbsoluteToRate}
	put(0, a, d)
	put(1, a, Source{Name: "d", Type: Derive, ValueType: Int64}) // now the file is modern
	put(2, Source{Name: "a", Type: Gauge}, Source{Name: "d", Type: Gauge})
	put(3, Source{Name: "a", Type: Derive}, d)
	put(4, Source{Name: "a", Type: Rate})
	equal(t, "samples", []string{
		"rrdd/p/host/a 0 0.5", "rrdd/p/host/a 1 0.5", "rrdd/p/host/a 2 0.5",
		"rrdd/p/host/d 0 0.5", "rrdd/p/host/d 1 int 9007199254740993", "rrdd/p/host/d 3 0.5",
	}, samples(t, r, 0))
	equal(t, "drops", "state 3", drops(r))
	var kinds []string
	for _, s := range r.Recorder.Series() {
		kinds = append(kinds, kindNames[s.Definition.Sources[0].Kind])
	}
	equal(t, "kinds", []string{"GAUGE", "DDERIVE"}, kinds)
}

// TestMetadata: units and descriptions are handed over once a change, and labels follow.
func TestMetadata(t *testing.T) {
	p := protocol(nil)
	told := &describer{Recorder: new(receivertest.Recorder)}
	inner := p.New
	p.New = func(c receivers.Config, _ receivers.Sink) (receivers.Receiver, error) { return inner(c, told) }
	r := receivertest.Start(t, receivertest.Case{Protocol: p}, told.Recorder, nil)
	n := 0
	put := func(change func(a, b *Source)) {
		t.Helper()
		f := gauges(n, 1, "a", "b")
		n++
		f.Sources[0].Units, f.Sources[0].Description = "B", "bytes"
		change(&f.Sources[0], &f.Sources[1])
		write(t, r.Receiver, "p", encode(t, f))
		turn(t, r.Receiver)
	}
	none := func(_, _ *Source) {}
	put(none)
	put(none)
	put(func(_, b *Source) { b.Units = "s" })
	put(func(a, b *Source) { b.Units = "s"; a.Default = true }) // a label, no metadata
	put(func(a, b *Source) { b.Units = "s"; a.Units = "" })
	put(none) // the units of b are gone
	r.Stop()
	at := func(names ...string) (m core.Metadata) {
		for i := 0; i < len(names); i += 2 {
			m.Time = rra.Seconds(receivertest.Now)
			m.Attributes = append(m.Attributes, core.Label{Name: names[i], Value: names[i+1]})
		}
		return m
	}
	const a, b = "rrdd/p/host/a", "rrdd/p/host/b"
	// The queue may merge texts of one path; the last one is sure.
	last := make(map[string]core.Metadata)
	for _, d := range told.all {
		last[d.Path] = d.Metadata
		if d.Sender != "rrdd/p" {
			t.Errorf("sender %q", d.Sender)
		}
	}
	equal(t, "metadata", map[string]core.Metadata{a: at("description", "bytes", "units", "B"), b: {}}, last)
	if len(told.all) > 5 {
		t.Errorf("%d descriptions, want 5 at most: %+v", len(told.all), told.all)
	}
	equal(t, "labels", []core.Label{
		{Name: "plugin", Value: "p"},
		{Name: "name", Value: "a"},
		{Name: "owner", Value: "host"},
		{Name: "units", Value: "B"},
		{Name: "description", Value: "bytes"},
		{Name: "default", Value: "false"},
		{Name: "transform", Value: "identity"},
	}, r.Recorder.Series()[0].Labels)
	if st := r.Stats(); st.Samples != uint64(2*n) || drops(r) != "" {
		t.Errorf("%+v, want %d samples", st, 2*n)
	}
}

// TestSettings: flags that make no sense are refused, and so is what is no folder.
func TestSettings(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		flag  receivers.Flag
		value string
		ok    bool
	}{
		{flagInterval, "100ms", true},
		{flagInterval, "1h", true},
		{flagInterval, "99ms", false},
		{flagInterval, "61m", false},
		{flagInterval, "5", true},
		{flagInterval, "5x", false},
		{flagInterval, "0", false},
		{flagInterval, "-5s", false},
		{flagTypes, "auto", true},
		{flagTypes, "legacy", true},
		{flagTypes, "modern", true},
		{flagTypes, "Modern", false},
		{flagOnlyDefault, "true", true},
		{flagOnlyDefault, "false", true},
		{flagOnlyDefault, "maybe", false},
	} {
		c := receivers.Config{Address: dir}
		option(test.flag, test.value)(&c)
		err := Protocol.Check(c)
		if (err == nil) != test.ok || err != nil && !strings.Contains(err.Error(), "--"+test.flag.Name+": \""+test.value+"\"") {
			t.Errorf("--%s %s: %v", test.flag.Name, test.value, err)
		}
		if r, err2 := Protocol.New(c, nil); (err2 == nil) != test.ok {
			t.Errorf("--%s %s: %v, %v", test.flag.Name, test.value, r, err2)
		}
	}
	for _, name := range []string{file, filepath.Join(dir, "missing"), ""} {
		if _, err := Protocol.New(receivers.Config{Address: name}, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("folder %q: %v", name, err)
		}
	}
	r, err := Protocol.New(receivers.Config{Address: dir}, nil)
	if err != nil || r.Addr().String() != dir || r.Close() != nil {
		t.Errorf("%v, %v", r, err)
	}
	d := Protocol.Default(receivers.Config{}, 0)
	if d.Step != 5 || len(d.Archives) != 4 || d.Validate() != nil {
		t.Errorf("by default: %v", d)
	}
}

// TestLog: one line a file and minute.
func TestLog(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(receivertest.Now, 0)
	r := start(t, func(c *receivers.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Now = func() time.Time { return now }
	}, nil)
	for i := range 10 {
		write(t, r.Receiver, "p", fmt.Appendf(nil, "no plugin file %d", i))
		write(t, r.Receiver, "q", fmt.Appendf(nil, "no plugin file %d", i))
		turn(t, r.Receiver)
	}
	rest(r.Receiver)
	now = now.Add(time.Minute)
	if err := os.Remove(filepath.Join(r.Addr().String(), "q")); err != nil {
		t.Fatal(err)
	}
	write(t, r.Receiver, "p", []byte("DATASOURCES\n"))
	turn(t, r.Receiver)
	r.Stop()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[2], "plugin=p") || !strings.Contains(lines[2], "held_back_lines=9") || !strings.Contains(lines[2], "offset=12") {
		t.Errorf("%d lines:\n%s", len(lines), log.String())
	}
}
