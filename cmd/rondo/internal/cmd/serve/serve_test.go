package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// settings returns the server's settings, with the given arguments parsed and no environment.
func settings(t *testing.T, args ...string) *Settings {
	t.Helper()
	p := &cli.Process{LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now}
	c := &cli.Factory{Process: p}
	s, cmd := NewSettings(c)
	cmd.Flags().StringVar(&c.ConfigFile, "config", "", "") // the root's
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return s
}

// receiver returns the settings of one protocol.
func receiver(t *testing.T, ways server.Ways, name string) server.Receiver {
	t.Helper()
	for _, r := range ways.Receivers {
		if r.Protocol.Name == name {
			return r
		}
	}
	t.Fatalf("there is no protocol %s", name)
	return server.Receiver{}
}

func TestSettings(t *testing.T) {
	file := configFile(t, `
http: 127.0.0.1:1
reorder: 30s
memory: 64M
sync: interval
collectd:
  security-level: sign
  typesdb: [/a, /b]
`)
	s := settings(t, "--config", file, "--http", "127.0.0.1:2")
	ways, named, err := s.Apply()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.HTTP, []string{"127.0.0.1:2"}) || s.Config.Engine.Reorder != 30*time.Second || s.Config.Memory != 64<<20 || s.Config.Engine.Sync != wal.SyncInterval {
		t.Errorf("got %+v", s)
	}
	r := receiver(t, ways, "collectd")
	want := map[string][]string{
		"collectd-security-level": {"sign"},
		"collectd-typesdb":        {"/a", "/b"},
		"collectd-auth-file":      {""},
		"collectd-group":          nil,
	}
	if diff := cmp.Diff(want, r.Options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if r.Address.Named || r.Address.Addr != r.Protocol.Address || !named["http"] {
		t.Errorf("named: %v, collectd at %+v", named, r.Address)
	}

	// A key that goes from the file goes from the settings.
	if err := os.WriteFile(file, []byte("collectd: 127.0.0.1:3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ways, _, err = s.Apply(); err != nil {
		t.Fatal(err)
	}
	r = receiver(t, ways, "collectd")
	want["collectd-security-level"], want["collectd-typesdb"] = []string{"none"}, nil
	if diff := cmp.Diff(want, r.Options); diff != "" {
		t.Errorf("options after the change (-want +got):\n%s", diff)
	}
	if (r.Address != server.Address{Addr: "127.0.0.1:3", Named: true}) || !slices.Equal(s.HTTP, []string{"127.0.0.1:2"}) || s.Config.Engine.Reorder != 0 {
		t.Errorf("after the change: collectd at %+v, %+v", r.Address, s)
	}
}

// TestHTTPHosts: names come from flags and from the file, below http or by the flag's name.
func TestHTTPHosts(t *testing.T) {
	for name, args := range map[string][]string{
		"flags": {"--http-host", "a.example", "--http-host", "b"},
		"flat":  {"--config", configFile(t, "http-host: [a.example, b]\n")},
		"below": {"--config", configFile(t, "http: {addr: \"127.0.0.1:1\", host: [a.example, b]}\n")},
	} {
		s := settings(t, args...)
		if _, _, err := s.Apply(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff([]string{"a.example", "b"}, s.Config.HTTPHosts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, _, err := settings(t, "--http-host", "http://a").Apply(); err == nil || !strings.Contains(err.Error(), `--http-host "http://a"`) {
		t.Errorf("a name that is none: %v", err)
	}
}

func TestPolicy(t *testing.T) {
	s := settings(t, "--config", configFile(t, `
policy:
  - path: collectd/*/load/load
    step: 20s
    heartbeat: 1m
    archives: ["RRA:MAX:0.5:1m:1h"]
  - labels: {host: web*}
    heartbeat: 7
`))
	ways, _, err := s.Apply()
	if err != nil {
		t.Fatal(err)
	}
	define := func(step int64) *rra.Definition {
		if step == 0 {
			step = 10
		}
		return &rra.Definition{
			Step:     step,
			Sources:  []rra.DataSource{{Name: "v", Heartbeat: 2}},
			Archives: []rra.Archive{{CF: rra.Last, PDPs: 1, Rows: 5}},
		}
	}
	for _, tt := range []struct {
		name string
		id   receivers.Identity
		want string
	}{
		{"by path", receivers.Identity{Path: "collectd/a/load/load"}, "20 60 RRA:MAX:0.5:3:60"},
		{"by label", receivers.Identity{Path: "x", Labels: []core.Label{{Name: "host", Value: "web7"}}}, "10 7 RRA:LAST:0:1:5"},
		{"none", receivers.Identity{Path: "x"}, "10 2 RRA:LAST:0:1:5"},
	} {
		d, err := ways.Policy.Define(tt.id, define)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join([]string{fmt.Sprint(d.Step), fmt.Sprint(d.Sources[0].Heartbeat), d.Archives[0].String()}, " ")
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestPolicyMistakes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"policy: 5\n", "rondo.yaml:1: policy: want a list of rules"},
		{"policy: [5]\n", "rondo.yaml:1: policy: rule 1: want the keys of a rule"},
		{"policy:\n  - archives: [\"RRA:NOSUCH:0.5:1:1\"]\n", "rondo.yaml:2: policy: rule 1: archives: "},
		{"policy:\n  - path: a\n    step: ten\n", `rondo.yaml:3: policy: rule 1: step: "ten"`},
	} {
		_, _, err := settings(t, "--config", configFile(t, tt.text)).Apply()
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want …%s…", tt.text, err, tt.want)
		}
	}
}

// TestLogLinesAreBounded: names come from whoever can send.
func TestLogLinesAreBounded(t *testing.T) {
	long := strings.Repeat("ü", 100_000)
	for _, args := range [][]string{nil, {"--log-json"}} {
		var out strings.Builder
		s := settings(t, args...)
		s.Stderr = &out
		s.logger().With("with", long).Warn("message", "name", long, "err", errors.New(long), "short", "kept", slog.Group("group", "in", long))
		if n := out.Len(); n > 4*2*maxLogged || !strings.Contains(out.String(), "kept") || !utf8.ValidString(out.String()) {
			t.Errorf("%v: a line of %d bytes: %.300s", args, n, out.String())
		}
	}
}

func configFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rondo.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
