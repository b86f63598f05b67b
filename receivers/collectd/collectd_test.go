package collectd

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// message is one gauge of the host "suite": the value n at n seconds past the epoch of the suite.
func message(n int) []byte { return every(n, 1) }

// every is the message of a sender with an interval in seconds.
func every(n, interval int) []byte {
	v := ValueList{
		Names: Names{Host: []byte("suite"), Plugin: []byte("p"), Type: []byte("gauge")},
		Time:  (receivertest.Epoch + Stamp(n)) << 30, Interval: Stamp(interval) << 30,
	}
	v.AddGauge(float64(n))
	var e Encoder
	e.Add(&v)
	return e.Bytes()
}

func suite(t testing.TB) receivertest.Case {
	return receivertest.Case{
		Protocol: Protocol,
		Message:  message,
		Every:    every,
		Garbage:  receivertest.Hex(t, filepath.Join(captures, "*.hex")),
	}
}

func TestReceiver(t *testing.T) {
	receivertest.Run(t, suite(t))
}

func TestReceiverEncrypted(t *testing.T) {
	c := suite(t)
	c.Options = map[string][]string{
		flagLevel.Name:    {"encrypt"},
		flagAuthFile.Name: {filepath.Join(captures, "auth")},
	}
	c.Message = func(n int) []byte { return nest(t, message(n), "e") }
	c.Every = func(n, apart int) []byte { return nest(t, every(n, apart), "e") }
	receivertest.Run(t, c)
}

// list makes a value list of one gauge.
func list(host, plugin, typ, instance string, at Stamp, x float64) *ValueList {
	v := &ValueList{
		Names: Names{Host: []byte(host), Plugin: []byte(plugin), Type: []byte(typ), TypeInstance: []byte(instance)},
		Time:  at, Interval: 10 << 30,
	}
	v.AddGauge(x)
	return v
}

func packet(t testing.TB, vs ...*ValueList) []byte {
	t.Helper()
	e := Encoder{Most: sockets.MaxDatagram}
	for _, v := range vs {
		if !e.Add(v) {
			t.Fatal("no room")
		}
	}
	return e.Bytes()
}

const epoch = Stamp(receivertest.Epoch) << 30

// TestNamesThatDiffer: instances in Latin-1 became one series, and so did a/b and a_b. Their values
// mixed.
func TestNamesThatDiffer(t *testing.T) {
	of := make(map[string]string)
	for _, name := range []string{"R\xe4ume", "R\xfcume", "R\uFFFDume", "a\x01b", "a\x02b", "a_b", "a/b", ".", "..", "_", "__", "a.rrd", "a", "Räume"} {
		for _, v := range []*ValueList{
			{Names: Names{Host: []byte(name), Plugin: []byte("p"), Type: []byte("t")}},
			{Names: Names{Host: []byte("h"), Plugin: []byte("p"), PluginInstance: []byte(name), Type: []byte("t")}},
			{Names: Names{Host: []byte("h"), Plugin: []byte("p"), Type: []byte("t"), TypeInstance: []byte(name)}},
		} {
			path := Identify(&v.Names).Path
			n := &Notification{Names: v.Names}
			if got := NotePath(n); got != path {
				t.Errorf("the note is about %s, want %s", got, path)
			}
			v.Time = 0
			if other, ok := of[path]; ok {
				t.Errorf("%q and %q are both %s", fmt.Sprint(v), other, path)
			}
			of[path] = fmt.Sprint(v)
		}
	}
}

// TestSeriesAndSamples: what is made of value lists, on its way to the store.
func TestSeriesAndSamples(t *testing.T) {
	r := receivertest.Start(t, suite(t), new(receivertest.Recorder), nil)
	octets := &ValueList{
		Names: Names{Host: []byte("h/1"), Plugin: []byte("interface"), PluginInstance: []byte("eth\xff0"), Type: []byte("if_octets")},
		Time:  epoch + 1<<29, Interval: 5 << 29,
	}
	octets.AddDerive(math.MinInt64)
	octets.AddDerive(1<<53 + 1)
	huge := &ValueList{Names: Names{Host: []byte("h"), Plugin: []byte(".."), Type: []byte("x")}, Time: epoch}
	for range maxSources + 1 {
		huge.AddGauge(1)
	}
	r.Send(packet(t,
		octets,
		list("h", "..", "gauge", "a", epoch+1<<29-1, math.Inf(1)),
		huge,
		list("h", "p", "gauge", "future", (receivertest.Now+3601)<<30, 1),
		list("h", "p", "gauge", "just so", (receivertest.Now+3600)<<30, 1),
		list("h", "p", "gauge", "long ago", 1<<30, 1),
	))
	r.UntilSamples(3)
	r.Stop()
	want := []receivertest.Sample{
		{Path: "collectd/h_1/interface-eth\uFFFD0/if_octets~b6c44d60e845fb42", At: rra.Seconds(receivertest.Epoch + 1), Values: []rra.Value{rra.Int(math.MinInt64), rra.Int(1<<53 + 1)}},
		{Path: "collectd/h/__/gauge-a~409411edd19ba6ca", At: rra.Seconds(receivertest.Epoch), Values: []rra.Value{rra.Unknown}},
		{Path: "collectd/h/p/gauge-just so", At: rra.Seconds(receivertest.Now + 3600), Values: []rra.Value{rra.Float(1)}},
	}
	if diff := cmp.Diff(want, r.Recorder.Samples()); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	st := r.Stats()
	if st.Dropped[receivers.State] != 2 || st.Dropped[receivers.Limit] != 1 || st.Samples != 3 || st.Values != 4 || st.Series != 3 {
		t.Errorf("stats %+v, want two of state and one of limit dropped", st)
	}
	s := r.Recorder.Series()[0]
	labels := []core.Label{{Name: "host", Value: "h/1"}, {Name: "plugin", Value: "interface"}, {Name: "plugin_instance", Value: "eth\uFFFD0"}, {Name: "type", Value: "if_octets"}}
	if diff := cmp.Diff(labels, s.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if d := s.Definition; d.Step != 3 || d.Sources[1].Name != "tx" || d.Sources[1].Kind != rra.Derive || d.Sources[1].Heartbeat != 5 {
		t.Errorf("definition %+v", d)
	}
}

// TestOtherShape: values that do not fit their series are dropped, those that do go on.
func TestOtherShape(t *testing.T) {
	r := receivertest.Start(t, suite(t), new(receivertest.Recorder), nil)
	r.Send(packet(t, list("h", "p", "x", "", epoch, 1)))
	r.UntilSamples(1)
	two, derive := list("h", "p", "x", "", epoch+1<<30, 1), list("h", "p", "x", "", epoch+1<<30, 1)
	two.AddGauge(2)
	derive.Kinds[0] = KindDerive
	r.Send(packet(t, two, derive, two, derive, list("h", "p", "x", "", epoch+2<<30, 3)))
	got := r.UntilSamples(2)
	r.Stop()
	if got[1].At != rra.Seconds(receivertest.Epoch+2) || len(r.Recorder.Samples()) != 2 {
		t.Errorf("samples %v, want the first and the last", r.Recorder.Samples())
	}
	if st := r.Stats(); st.Dropped[receivers.State] != 4 {
		t.Errorf("stats %+v, want four of state dropped", st)
	}
}

// TestNotifications are kept, logged, counted, and no samples.
func TestNotifications(t *testing.T) {
	var log syncBuffer
	r := receivertest.Start(t, suite(t), new(receivertest.Recorder), func(c *receivers.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	n := Notification{
		Names: Names{Host: []byte("h"), Plugin: []byte("df"), PluginInstance: []byte("root"), Type: []byte("df_complex"), TypeInstance: []byte("free")},
		Time:  epoch + 1<<28, Severity: Failure, Message: []byte("full\n"),
	}
	var e Encoder
	e.Note(&n)
	e.Add(list("h", "p", "gauge", "", epoch, 1))
	r.Send(e.Bytes())
	r.UntilSamples(1)
	r.Until("the notification", func(s receivertest.State) bool { return len(s.Notes["collectd/h/df-root/df_complex-free"]) == 1 })
	r.Stop()
	want := core.Note{
		Time: rra.Time(receivertest.Epoch*1e6 + 250_000), Severity: "failure", Text: "full\n",
		Labels: []core.Label{{Name: "host", Value: "h"}, {Name: "plugin", Value: "df"}, {Name: "plugin_instance", Value: "root"}, {Name: "type", Value: "df_complex"}, {Name: "type_instance", Value: "free"}},
	}
	if diff := cmp.Diff(want, r.Recorder.Notes()["collectd/h/df-root/df_complex-free"][0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, s := range []string{"level=INFO", "severity=failure", `text="full\n"`, "plugin_instance=root", "type_instance=free"} {
		if !strings.Contains(log.String(), s) {
			t.Errorf("log lacks %s: %s", s, &log)
		}
	}
	if st := r.Stats(); st.Notes != 1 || st.Samples != 1 {
		t.Errorf("stats %+v, want one note and one sample", st)
	}
}

// TestUsersFileChanges while the receiver runs.
func TestUsersFileChanges(t *testing.T) {
	name := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(name, []byte("alice: old"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := suite(t)
	c.Options = map[string][]string{flagLevel.Name: {"sign"}, flagAuthFile.Name: {name}}
	var mu sync.Mutex
	now := time.Unix(receivertest.Now, 0)
	r := receivertest.Start(t, c, new(receivertest.Recorder), func(c *receivers.Config) {
		c.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	})
	signed := func(n int, password string) []byte {
		b, err := AppendSigned(nil, "alice", password, message(n))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	r.Send(signed(0, "old"), signed(1, "new"), signed(2, "old"))
	r.UntilSamples(2)
	if st := r.Stats(); st.Dropped[receivers.Auth] != 1 {
		t.Errorf("stats %+v, want one of auth dropped", st)
	}
	if err := os.WriteFile(name, []byte("alice: brand new"), 0o600); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	now = now.Add(checkUsers)
	mu.Unlock()
	r.Send(signed(3, "old"), signed(4, "brand new"))
	if got := r.UntilSamples(3); got[2].Values[0] != rra.Float(4) {
		t.Errorf("samples %v, want the last to be 4", got)
	}
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

func TestConfigure(t *testing.T) {
	dir := t.TempDir()
	types := filepath.Join(dir, "types.db")
	if err := os.WriteFile(types, []byte("mine a:GAUGE:0:1 b:GAUGE:0:1\nbad\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	auth := filepath.Join(captures, "auth")
	for _, test := range []struct {
		name    string
		options map[string][]string
		address string
		want    string // in the error
	}{
		{"nothing", nil, "", ""},
		{"all", map[string][]string{flagLevel.Name: {"Encrypt"}, flagAuthFile.Name: {auth}, flagTypesDB.Name: {types, types}}, "", ""},
		{"no such level", map[string][]string{flagLevel.Name: {"high"}}, "", `--collectd-security-level: security level "high"`},
		{"sign without users", map[string][]string{flagLevel.Name: {"sign"}}, "", "needs --collectd-auth-file"},
		{"encrypt without users", map[string][]string{flagLevel.Name: {"encrypt"}}, "", "needs --collectd-auth-file"},
		{"no users file", map[string][]string{flagAuthFile.Name: {filepath.Join(dir, "none")}}, "", "--collectd-auth-file: "},
		{"no types file", map[string][]string{flagTypesDB.Name: {filepath.Join(dir, "none")}}, "", "--collectd-typesdb: "},
		{"group at one address", map[string][]string{flagGroup.Name: {"default"}}, "127.0.0.1:0", "gets nothing sent to the group"},
		{"group that is none", map[string][]string{flagGroup.Name: {"10.0.0.1"}}, "0.0.0.0:0", "10.0.0.1 is not a multicast address"},
		{"address without a port", nil, "127.0.0.1", "missing port"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := receivers.Config{Address: "127.0.0.1:0", Options: test.options}
			if test.address != "" {
				cfg.Address = test.address
			}
			r, err := Protocol.New(cfg, new(receivertest.Recorder))
			if err == nil {
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// TestBothFamilies: [::] takes IPv4 too.
func TestBothFamilies(t *testing.T) {
	c := suite(t)
	c.Address = "[::]:0"
	r := receivertest.Start(t, c, new(receivertest.Recorder), nil)
	_, port, err := net.SplitHostPort(r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for n, host := range []string{"127.0.0.1", "::1"} {
		conn, err := net.Dial("udp", net.JoinHostPort(host, port))
		if err == nil {
			_, err = conn.Write(message(n))
			_ = conn.Close() // sent
		}
		if err != nil {
			t.Skipf("%s is not to be reached: %v", host, err)
		}
		r.UntilSamples(n + 1)
	}
}

// TestMulticast: collectd's group is joined.
func TestMulticast(t *testing.T) {
	receivertest.Multicast(t, suite(t), flagGroup, group4, message(0))
}

// TestWeak: what is dropped for want of protection is counted by list, and logged once with its
// source.
func TestWeak(t *testing.T) {
	var log syncBuffer
	c := suite(t)
	c.Options = map[string][]string{flagLevel.Name: {"sign"}, flagAuthFile.Name: {filepath.Join(captures, "auth")}}
	r := receivertest.Start(t, c, new(receivertest.Recorder), func(c *receivers.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	weak := packet(t, list("h", "p", "gauge", "a", epoch, 1), list("h", "p", "gauge", "b", epoch, 1))
	r.Send(weak, weak, nest(t, message(0), "s"))
	r.UntilSamples(1)
	r.Stop()
	if st := r.Stats(); st.Dropped[receivers.Auth] != 4 {
		t.Errorf("stats %+v, want four of auth dropped", st)
	}
	if n := strings.Count(log.String(), "neither signed nor encrypted"); n != 1 || !strings.Contains(log.String(), "from=127.0.0.1") {
		t.Errorf("%d lines, want 1 that names the source: %s", n, &log)
	}
}
