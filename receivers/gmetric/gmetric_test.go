package gmetric

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// message is message n of the suite: a 3.0 one holds all that a sample needs.
func message(t testing.TB, n int) []byte {
	return example(t, Message{
		Word: WordGmetric, Type: []byte("uint32"), Name: []byte("suite"), Text: fmt.Appendf(nil, "%d", n), Units: []byte("n"), TMax: 60,
	})
}

func TestReceiver(t *testing.T) {
	var bad [][]byte
	for _, name := range []string{"handbuilt.hex", "gmetric-3.7.2.hex"} {
		bad = append(bad, receivertest.Hex(t, filepath.Join(captures, name))...)
	}
	receivertest.Run(t, receivertest.Case{
		Protocol: Protocol,
		Message:  func(n int) []byte { return message(t, n) },
		Arrival:  true,
		Garbage:  bad,
	})
}

// TestReceiveCaptures: the captures, sent to a receiver, give the series, values and texts of the
// manifest.
func TestReceiveCaptures(t *testing.T) {
	for _, f := range readManifest(t).Files {
		t.Run(f.File, func(t *testing.T) {
			r := run(t, new(receivertest.Recorder), nil)
			for _, b := range receivertest.Hex(t, filepath.Join(captures, f.File)) {
				r.raw(b)
				r.clock.Add(1)
			}
			r.Stop()
			got := make(map[string]wantSeries)
			for _, s := range r.Recorder.Series() {
				d := s.Definition
				w := wantSeries{Step: d.Step, Heartbeat: d.Sources[0].Heartbeat}
				for _, ds := range d.Sources {
					w.DS, w.Kinds = append(w.DS, ds.Name), append(w.Kinds, ds.Kind.String())
					if ds.Min == ds.Min || ds.Max == ds.Max {
						t.Errorf("%s: limits %v, %v, want none", s.Path, ds.Min, ds.Max)
					}
				}
				if diff := cmp.Diff(archives[:], d.Archives); diff != "" {
					t.Errorf("%s: archives (-want +got):\n%s", s.Path, diff)
				}
				for _, l := range s.Labels {
					if l.Name == "units" {
						w.Units = l.Value
					}
				}
				md, err := r.Recorder.Metadata(t.Context(), s.Path)
				if err != nil {
					t.Fatal(err)
				}
				w.DMax = md.Expire
				for _, v := range r.samplesOf(s.Path) {
					w.Values = append(w.Values, v)
				}
				got[s.Path] = w
			}
			want := make(map[string]wantSeries)
			for path, w := range f.Expected.Series {
				for i := range w.Values {
					w.Values[i] = number(t, w.Values[i])
					if v := w.Values[i].(rra.Value); w.Kinds[0] == "DERIVE" && v.Tag == rra.TagUint {
						w.Values[i] = v
					}
				}
				want[strings.ReplaceAll(path, "$SOURCE", "127.0.0.1")] = w
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
			texts := make(map[string]string)
			r.Until("", func(s receivertest.State) bool {
				for path, md := range s.Texts {
					if md.Text != "" {
						texts[path] = md.Text
					}
				}
				return true
			})
			wantTexts := make(map[string]string)
			for path, s := range f.Expected.Strings {
				wantTexts[strings.ReplaceAll(path, "$SOURCE", "127.0.0.1")] = s
			}
			if diff := cmp.Diff(wantTexts, texts); diff != "" {
				t.Errorf("texts (-want +got):\n%s", diff)
			}
			errors := uint64(0)
			for _, p := range f.Expected.Packets {
				if p.Error != "" || p.ValueError != "" {
					errors++
				}
			}
			dropped := uint64(0)
			for _, n := range r.Stats().Dropped {
				dropped += n
			}
			if dropped != errors {
				t.Errorf("%d dropped, want %d: %+v", dropped, errors, r.Stats())
			}
		})
	}
}

// TestLabels: all that metadata says is a label and kept; so is what a spoofed host is called.
func TestLabels(t *testing.T) {
	r := run(t, new(receivertest.Recorder), map[string][]string{flagExpire.Name: {"delete"}})
	m := meta("10.1.2.3:web:01", "a/b c\x00", "timestamp", Positive)
	m.Spoof, m.Units, m.TMax, m.DMax = true, []byte("n\xff"), 100, 300
	for _, p := range []string{"SPOOF_HOST=10.1.2.3:web:01", "GROUP=net", "TITLE=t", "GROUP=all", "DESC=d", "CLUSTER=c", "on_expiry=keep", "B=2", "A=1", "B=3"} {
		k, v, _ := strings.Cut(p, "=")
		m.Extra = append(m.Extra, Pair{[]byte(k), []byte(v)})
	}
	v := value("10.1.2.3:web:01", "a/b c\x00", "17.5")
	v.Spoof = true
	r.send(m, v)
	r.UntilSamples(1)
	s := r.Recorder.Series()[0]
	if s.Path != "ganglia/web:01/a_b c_~a9a0ccb132474e53" {
		t.Errorf("path %q", s.Path)
	}
	want := []core.Label{
		{Name: "host", Value: "web:01"},
		{Name: "metric", Value: "a/b c_"},
		{Name: "units", Value: "n\uFFFD"},
		{Name: "type", Value: "timestamp"},
		{Name: "group", Value: "net,all"},
		{Name: "title", Value: "t"},
		{Name: "description", Value: "d"},
		{Name: "cluster", Value: "c"},
		{Name: "ip", Value: "10.1.2.3"},
	}
	if diff := cmp.Diff(want, s.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if ds := s.Definition.Sources[0]; ds.Kind != rra.DCounter || ds.Heartbeat != 400 {
		t.Errorf("data source %+v, want a DCOUNTER with heartbeat 400", ds)
	}
	md := r.described("it is kept", s.Path, func(md core.Metadata) bool { return md.Time != 0 })
	attributes := []core.Label{
		{Name: "cluster", Value: "c"},
		{Name: "description", Value: "d"},
		{Name: "dmax", Value: "300"},
		{Name: "extra.A", Value: "1"},
		{Name: "extra.B", Value: "3"},
		{Name: "extra.on_expiry", Value: "keep"},
		{Name: "group", Value: "net,all"},
		{Name: "ip", Value: "10.1.2.3"},
		{Name: "on_expiry", Value: "delete"},
		{Name: "slope", Value: "positive"},
		{Name: "title", Value: "t"},
		{Name: "tmax", Value: "100"},
		{Name: "type", Value: "timestamp"},
		{Name: "units", Value: "n\uFFFD"},
	}
	if diff := cmp.Diff(core.Metadata{Time: rra.Seconds(began), Attributes: attributes, Expire: 300}, md); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	back, ok := parseAttributes(attributes)
	if !ok || !slices.Equal(back.attributes(true), attributes) {
		t.Errorf("read back: %+v, %t", back, ok)
	}
}

// TestKinds: type and slope make the kind.
func TestKinds(t *testing.T) {
	for _, typ := range []string{"int8", "uint8", "int16", "uint16", "int32", "uint32", "float", "double", "", "timestamp"} {
		whole := strings.Contains(typ, "int")
		for slope, want := range map[Slope]rra.Kind{
			Zero: rra.Gauge, Positive: rra.DCounter, Negative: rra.Gauge, Both: rra.Gauge, Unspecified: rra.Gauge, Derivative: rra.DDerive,
		} {
			switch {
			case whole && slope == Positive:
				want = rra.Counter
			case whole && slope == Derivative:
				want = rra.Derive
			}
			if got := (&metric{typ: typ, slope: slope}).kind(); got != want {
				t.Errorf("%q, %v: %v, want %v", typ, slope, got, want)
			}
		}
	}
}

// TestFlags: what flags may say.
func TestFlags(t *testing.T) {
	for _, test := range []struct {
		flag, value, want string
	}{
		{flagAllow.Name, "10.0.0.0/8", ""},
		{flagAllow.Name, "10.0.0.1", ""},
		{flagAllow.Name, "::1", ""},
		{flagAllow.Name, "::ffff:10.0.0.0/104", ""},
		{flagAllow.Name, "10.0.0.0/33", `--gmetric-allow: "10.0.0.0/33" is no CIDR, such as 10.0.0.0/8`},
		{flagAllow.Name, "here", `--gmetric-allow: "here" is no CIDR, such as 10.0.0.0/8`},
		{flagHost.Name, "source", ""},
		{flagHost.Name, "sender", `--gmetric-host: "sender": want one of message, source`},
		{flagResolve.Name, "true", ""},
		{flagResolve.Name, "maybe", `--gmetric-resolve: "maybe": want true or false`},
		{flagStep.Name, "60", ""},
		{flagStep.Name, "0", `--gmetric-step: "0": want whole seconds`},
		{flagStep.Name, "1m", ""},
		{flagStep.Name, "1x", `--gmetric-step: "1x" is no duration`},
		{flagExpire.Name, "delete", ""},
		{flagExpire.Name, "never", `--gmetric-expire: "never": want one of keep, delete`},
		{flagGroup.Name, "default", ""},
	} {
		err := Protocol.Check(receivers.Config{Options: map[string][]string{test.flag: {test.value}}})
		if err == nil && test.want != "" || err != nil && (test.want == "" || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%s=%s: %v, want %q", test.flag, test.value, err, test.want)
		}
	}
	if _, err := Protocol.New(receivers.Config{Options: map[string][]string{flagHost.Name: {"x"}}}, nil); err == nil {
		t.Error("a receiver is made of wrong flags")
	}
	c := receivers.Config{Options: map[string][]string{flagStep.Name: {"20"}}}
	for step, want := range map[int64]int64{0: 20, 60: 60} {
		if d := Protocol.Default(c, step); d.Step != want || d.Sources[0].Heartbeat != max(240, 8*want) {
			t.Errorf("typical definition for step %d: %+v", step, d)
		}
	}
}

// TestAllow: an address list is kept to.
func TestAllow(t *testing.T) {
	for allow, want := range map[string]bool{"10.0.0.0/8": false, "127.0.0.0/8": true, "127.0.0.2": false, "127.0.0.1": true, "::ffff:127.0.0.0/104": true} {
		r := run(t, new(receivertest.Recorder), map[string][]string{flagAllow.Name: {"192.0.2.0/24", allow}})
		r.raw(message(t, 1))
		if want {
			r.UntilSamples(1)
			continue
		}
		r.Stop()
		if st := r.Stats(); st.Dropped[receivers.Auth] != 1 || st.Samples != 0 {
			t.Errorf("%s: %+v, want the packet refused", allow, st)
		}
	}
}

// TestHostSource: the sender's address names the host, if a flag says so or the message names none.
func TestHostSource(t *testing.T) {
	for option, want := range map[string]string{
		"message": "ganglia/h/m ganglia/127.0.0.1/m ganglia/s/m ganglia/127.0.0.1/suite",
		"source":  "ganglia/127.0.0.1/m ganglia/s/m ganglia/127.0.0.1/suite",
	} {
		r := run(t, new(receivertest.Recorder), map[string][]string{flagHost.Name: {option}})
		for _, host := range []string{"h", "", "1.2.3.4:s"} {
			m, v := meta(host, "m", "int32", Both), value(host, "m", "1")
			m.Spoof, v.Spoof = strings.Contains(host, ":"), strings.Contains(host, ":")
			r.send(m, v)
		}
		r.raw(message(t, 1))
		r.UntilSamples(4)
		var got []string
		for _, s := range r.Recorder.Series() {
			got = append(got, s.Path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: series %q, want %s", option, got, want)
		}
	}
}

// TestBadValues: what is no value of its metric makes no series, and is counted and dropped.
func TestBadValues(t *testing.T) {
	r := run(t, new(receivertest.Recorder), nil)
	for _, test := range []struct {
		typ   string
		slope Slope
		text  string
	}{
		{"int32", Both, "x"},
		{"float", Both, ""},
		{"double", Both, "nan"},
		{"uint32", Positive, "1.5"},
		{"uint32", Derivative, "1e3"},
	} {
		r.send(meta("h", test.typ+test.slope.String(), test.typ, test.slope), value("h", test.typ+test.slope.String(), test.text))
	}
	until(t, "five are malformed", func() bool { return r.Stats().Dropped[receivers.Malformed] == 5 })
	// A good value makes the series, and bad ones do not harm it.
	r.send(value("h", "uint32positive", "15"), value("h", "uint32positive", "1.5"), value("h", "uint32positive", "y"), value("h", "uint32positive", "16"))
	r.UntilSamples(2)
	f := value("h", "uint32positive", "")
	f.Word, f.Number = WordFloat, rra.Float(17)
	r.send(f)
	r.Stop()
	if diff := cmp.Diff([]rra.Value{rra.Uint(15), rra.Uint(16)}, r.samplesOf("ganglia/h/uint32positive")); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if n := len(r.Recorder.Series()); n != 1 {
		t.Errorf("%d series, want 1", n)
	}
	if st := r.Stats(); st.Dropped[receivers.Malformed] != 7 || st.Dropped[receivers.State] != 1 {
		t.Errorf("%+v, want 7 malformed and 1 state", st)
	}
}

// TestRequest: questions between gmonds are ignored, and are no error.
func TestRequest(t *testing.T) {
	r := run(t, new(receivertest.Recorder), nil)
	r.send(Message{Word: WordRequest, Host: []byte("h"), Name: []byte("m")})
	r.Stop()
	if st := r.Stats(); st.Packets != 1 || st.Dropped != [receivers.NumReasons]uint64{} {
		t.Errorf("%+v, want one packet and no drop", st)
	}
}

// TestExtraLimits: extra elements beyond the limits are left out and counted.
func TestExtraLimits(t *testing.T) {
	m := meta("h", "m", "int32", Both)
	for i := range 100 {
		m.Extra = append(m.Extra, Pair{fmt.Appendf(nil, "k%d", i), []byte("v")}, Pair{[]byte("GROUP"), bytes.Repeat([]byte("g"), 100)})
	}
	md, left := metricOf(&m)
	if len(md.extra) != maxExtra || len(md.group) > maxGroup || left != 100-maxExtra+100-14 {
		t.Errorf("%d extra, groups of %d bytes, %d left out", len(md.extra), len(md.group), left)
	}
}

// TestMulticast: Ganglia's group is joined.
func TestMulticast(t *testing.T) {
	receivertest.Multicast(t, receivertest.Case{Protocol: Protocol}, flagGroup, group, message(t, 7))
}
