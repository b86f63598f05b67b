package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/rondo-db/rondo/cmd/rondo/internal/config"
)

type settings struct {
	HTTP, Collectd, AuthFile string
	Reorder                  time.Duration
	RRDCached                []string
}

func flags(s *settings) *pflag.FlagSet {
	f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.StringVar(&s.HTTP, "http", "127.0.0.1:9180", "")
	f.StringVar(&s.Collectd, "collectd", "127.0.0.1:25826", "")
	f.StringVar(&s.AuthFile, "collectd-auth-file", "", "")
	f.DurationVar(&s.Reorder, "reorder", 0, "")
	f.StringSliceVar(&s.RRDCached, "rrdcached", []string{"127.0.0.1:42217"}, "")
	return f
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rondo.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func environment(m map[string]string) func(string) (string, bool) {
	return func(k string) (string, bool) { v, ok := m[k]; return v, ok }
}

func TestPrecedence(t *testing.T) {
	file := write(t, "http: file:1\nreorder: 30s\ncollectd:\n  addr: file:2\n  auth-file: /file\nrrdcached: [a, b]\n")
	var got settings
	f := flags(&got)
	if err := f.Parse([]string{"--http", "flag:1"}); err != nil {
		t.Fatal(err)
	}
	env := environment(map[string]string{"RONDO_HTTP": "env:1", "RONDO_COLLECTD": "env:2"})
	named, err := config.Apply(f, env, file)
	if err != nil {
		t.Fatal(err)
	}
	want := settings{HTTP: "flag:1", Collectd: "env:2", AuthFile: "/file", Reorder: 30 * time.Second, RRDCached: []string{"a", "b"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	wantNamed := map[string]bool{"http": true, "collectd": true, "collectd-auth-file": true, "reorder": true, "rrdcached": true}
	if diff := cmp.Diff(wantNamed, named); diff != "" {
		t.Errorf("named (-want +got):\n%s", diff)
	}
}

func TestNothingNamed(t *testing.T) {
	var got settings
	named, err := config.Apply(flags(&got), environment(nil), write(t, "# nothing\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(named) != 0 {
		t.Errorf("named: %v", named)
	}
}

func TestEmptyValueTurnsOff(t *testing.T) {
	var got settings
	if _, err := config.Apply(flags(&got), environment(nil), write(t, "collectd:\nhttp: ''\n")); err != nil {
		t.Fatal(err)
	}
	if got.Collectd != "" || got.HTTP != "" {
		t.Errorf("got %+v", got)
	}
}

type placed int

func (placed) Error() string { return "placed" }
func (p placed) Line() int   { return int(p) }

func TestErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"unknown key", "http: a:1\nhtpp: b:1\n", `rondo.yaml:2: unknown key "htpp"`},
		{"unknown nested key", "collectd:\n  addr: a:1\n  auth-fil: x\n", `rondo.yaml:3: unknown key "auth-fil"`},
		{"config in config", "config: x\n", `rondo.yaml:1: unknown key "config"`},
		{"twice", "collectd-auth-file: a\ncollectd:\n  auth-file: b\n", `rondo.yaml:3: key "collectd-auth-file" is there twice`},
		{"bad value", "http: a\n\nreorder: soon\n", `rondo.yaml:3: reorder: "soon": time: invalid duration "soon"`},
		{"list for one", "http: [a, b]\n", `rondo.yaml:1: http: want one value, not 2`},
		{"mapping for one", "http:\n  reorder: 1s\n", `rondo.yaml:2: unknown key "reorder"`},
		{"no mapping", "- http\n", `rondo.yaml:1: want keys and values`},
		{"two documents", "http: a\n---\nhttp: b\n", `rondo.yaml: more than one document`},
		{"section", "rules: [1]\n", `rondo.yaml:1: rules: bad rule`},
		{"section of a place", "rules:\n  - 1\n  - 2\n", `rondo.yaml:3: rules: wrapped: placed`},
		{"section twice", "rules: []\nrules: []\n", `rondo.yaml:2: key "rules" is there twice`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s settings
			_, err := config.Apply(flags(&s), environment(nil), write(t, tt.text),
				config.Section{Key: "rules", Parse: func(n *yaml.Node) error {
					switch len(n.Content) {
					case 0:
						return nil
					case 1:
						return errors.New("bad rule")
					}
					return fmt.Errorf("wrapped: %w", placed(n.Content[1].Line))
				}})
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("got %v, want …%s", err, tt.want)
			}
		})
	}
}

func TestBadVariable(t *testing.T) {
	var s settings
	_, err := config.Apply(flags(&s), environment(map[string]string{"RONDO_REORDER": "soon"}), "")
	if err == nil || !strings.Contains(err.Error(), "RONDO_REORDER") {
		t.Errorf("got %v, want an error that names RONDO_REORDER", err)
	}
}
