//go:build unix

package smon

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// startFiles starts a receiver that reads files and listens nowhere.
func startFiles(t testing.TB, names ...string) (*receivertest.Running, *syncBuffer) {
	t.Helper()
	c := suite(t)
	c.Options = map[string][]string{flagFile.Name: names}
	log := new(syncBuffer)
	r := receivertest.Start(t, c, new(receivertest.Recorder), func(cfg *receivers.Config) {
		cfg.Address = ""
		cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
		if !Protocol.Enabled(*cfg) {
			t.Error("the protocol is not enabled by files alone")
		}
	})
	if r.Addr() != nil {
		t.Errorf("it listens at %v, want nowhere", r.Addr())
	}
	return r, log
}

// writeFile writes a stream into a new folder.
func writeFile(t testing.TB, name string, ds ...datum) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, encoded(t, ds...), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func values0(ss []receivertest.Sample) map[string][]uint64 {
	m := make(map[string][]uint64)
	for _, s := range ss {
		m[s.Path] = append(m[s.Path], s.Values[0].Bits)
	}
	return m
}

// TestFiles are read to their ends, each with its own peer, and the server goes on.
func TestFiles(t *testing.T) {
	var many []datum
	for n := range uint64(100_000) {
		many = append(many, number("many", n, n%1000))
	}
	r, log := startFiles(t,
		writeFile(t, "web1.smon", number("abc", 1)), writeFile(t, "web1.txt", number("abc", 2)),
		writeFile(t, ".hidden", number("abc", 3)), writeFile(t, "big", many...))
	r.UntilSamples(3 + len(many))
	until(t, "all have ended", func() bool { return strings.Count(log.String(), "file has ended") == 4 })
	got := values0(r.Recorder.Samples())
	for path, want := range map[string]uint64{"smon/web1/abc": 1, "smon/web1#2/abc": 2, "smon/.hidden/abc": 3} {
		if vs := got[path]; len(vs) != 1 || vs[0] != want {
			t.Errorf("%s is %v, want %d", path, vs, want)
		}
	}
	for n := range uint64(1000) {
		path := Identify("big", &Token{Name: "many"}, []uint64{n}).Path
		for i, v := range got[path] {
			if v != n+1000*uint64(i) {
				t.Fatalf("value %d of %s is %d", i, path, v)
			}
		}
	}
	if st := r.Stats(); st.Bytes == 0 || st.Packets != st.Samples || st.Dropped != [receivers.NumReasons]uint64{} {
		t.Errorf("stats %+v, want no drop", st)
	}
}

// TestStandardInput is read as it comes; that it ends changes nothing.
func TestStandardInput(t *testing.T) {
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdin
	os.Stdin = in
	t.Cleanup(func() { os.Stdin = old })
	r, log := startFiles(t, "-")
	b := encoded(t, number("abc", 1), number("abc", 2))
	for _, p := range [][]byte{b[:3], b[3:9], b[9:]} {
		before := r.Stats().Bytes
		if _, err := w.Write(p); err != nil {
			t.Fatal(err)
		}
		until(t, "it is read", func() bool { return r.Stats().Bytes == before+uint64(len(p)) })
	}
	r.UntilSamples(2)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, "it has ended", func() bool { return strings.Contains(log.String(), "file has ended") })
	if got := r.Recorder.Samples()[0]; got.Path != "smon/stdin/abc" || got.Values[0] != rra.Uint(1) {
		t.Errorf("sample %v", got)
	}
}

// TestSilentInput: a receiver stops though its input is silent, and takes what is there.
func TestSilentInput(t *testing.T) {
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }() // of no use any more
	old := os.Stdin
	os.Stdin = in
	t.Cleanup(func() { os.Stdin = old })
	r, _ := startFiles(t, "-")
	if _, err := w.Write(encoded(t, number("abc", 1))); err != nil {
		t.Fatal(err)
	}
	r.Stop()
	if got := r.Recorder.Samples(); len(got) != 1 {
		t.Errorf("samples %v, want one", got)
	}
}

// TestPipe: a named pipe may have no writer yet, and several one after the other; each begins with
// a reset.
func TestPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := startFiles(t, name)
	for n := range uint64(3) {
		w, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(encoded(t, datum{}, number("abc", n))); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := r.UntilSamples(int(n + 1))[n]; got.Path != "smon/pipe/abc" || got.Values[0] != rra.Uint(n) {
			t.Errorf("sample %v", got)
		}
	}
}

// TestConfigure: what the flags may say.
func TestConfigure(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		name    string
		options map[string][]string
		address string
		want    string // in the error
	}{
		{"nothing", nil, "", ""},
		{"all", map[string][]string{
			flagKind.Name: {"a.*=DERIVE", "b=c=COUNTER"}, flagStep.Name: {"60"}, flagConns.Idle.Name: {"0"},
			flagConns.Conns.Name: {"1"}, flagConns.HostConns.Name: {"1"}, flagFile.Name: {writeFile(t, "x", number("abc", 1))},
		}, "", ""},
		{"step with a unit", map[string][]string{flagStep.Name: {"5m"}}, "", ""},
		{"step of no whole seconds", map[string][]string{flagStep.Name: {"1500ms"}}, "", `--smon-step: "1500ms"`},
		{"step of nothing", map[string][]string{flagStep.Name: {"0"}}, "", "--smon-step"},
		{"no such kind", map[string][]string{flagKind.Name: {"a=HEAP"}}, "", `--smon-kind: "a=HEAP"`},
		{"a kind that is none here", map[string][]string{flagKind.Name: {"a=COMPUTE"}}, "", `--smon-kind`},
		{"kind of nothing", map[string][]string{flagKind.Name: {"GAUGE"}}, "", `"GAUGE" is no GLOB=KIND`},
		{"idle in words", map[string][]string{flagConns.Idle.Name: {"long"}}, "", "--smon-idle"},
		{"no connections", map[string][]string{flagConns.Conns.Name: {"0"}}, "", "--smon-connections"},
		{"no connections of an address", map[string][]string{flagConns.HostConns.Name: {"many"}}, "", "--smon-host-connections"},
		{"no such file", map[string][]string{flagFile.Name: {filepath.Join(dir, "none")}}, "", "--smon-file: "},
		{"a folder", map[string][]string{flagFile.Name: {dir}}, "", "is a folder"},
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

// TestDefault: what people are shown is what is made.
func TestDefault(t *testing.T) {
	d := Protocol.Default(receivers.Config{Options: map[string][]string{flagStep.Name: {"300"}}}, 0)
	if d.Step != 300 || d.Sources[0].Heartbeat != 600 || d.Sources[0].Kind != rra.Gauge {
		t.Errorf("definition %+v", d)
	}
	if d := Protocol.Default(receivers.Config{}, 0); d.Step != 10 || d.Sources[0].Heartbeat != 120 {
		t.Errorf("definition %+v", d)
	}
}
