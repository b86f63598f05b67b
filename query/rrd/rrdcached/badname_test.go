package rrdcached_test

import (
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/rra"
)

// TestLineFeedInPath: a path that holds a line feed cannot be made by whatever way, so that LIST
// says as many lines as it sends and the next answer is the next request's.
func TestLineFeedInPath(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	d, err := rra.ParseDefinition(10, []string{"DS:x:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Create(t.Context(), core.Spec{Path: "a\n0 errors, enqueued 99 value(s).", Definition: d, Start: rra.Seconds(1)}); err == nil {
		t.Error("the series was made")
	}
	p := dial(t, s.addr)
	p.expect("CREATE b"+definition+"\nLIST /\nPING\n", "0 RRD created OK\n1 RRDs\nb\n0 PONG\n")
}

// TestNamesThatCannotBe: every command answers a name that is no UTF-8 or holds control characters
// with one line, which quotes it harmlessly.
func TestNamesThatCannotBe(t *testing.T) {
	s := serve(t, rrdcached.Options{Adopt: true, Make: nil}, 0)
	p := dial(t, s.addr)
	for name, want := range map[string]string{"a\xffb": `-1 "a\xffb" is no UTF-8 at byte 1 (ff)`, "a\x1b[2J": `-1 "a\x1b[2J" holds a control character at byte 1 (U+001B)`} {
		for _, request := range []string{
			"CREATE %" + definition, "UPDATE % 1000000010:1", "FETCH % AVERAGE", "INFO %", "LAST %", "FIRST % 0", "FLUSH %", "FORGET %", "SUSPEND %", "RESUME %",
		} {
			request = strings.Replace(request, "%", name, 1)
			got := p.ask(request)
			if got != want+"\n" && got != strings.Replace(want, "-1 ", "-1 RRD Error: ", 1)+"\n" && got != strings.Replace(want, "-1 ", "-1 rrd_fetch_r failed: ", 1)+"\n" {
				t.Errorf("%q is answered %q, want %q", request, got, want)
			}
		}
		for _, request := range []string{"TUNE % -h x:60", "DUMP %", "CREATE new -t %" + definition, "FOO% x", "LIST /%", "CREATE % DS:" + name, "UPDATE b " + name, "HELP %", "FETCH b " + name} {
			request = strings.ReplaceAll(request, "%", name)
			got := p.ask(request)
			if got[0] != '-' && request[0] != 'H' || strings.ContainsAny(got, "\x1b") || strings.Contains(got, "\xff") || strings.Count(got, "\n") != 1 && request[0] != 'H' {
				t.Errorf("%q is answered %q", request, got)
			}
		}
		p.expect("PING\nLIST /\n", "0 PONG\n0 RRDs\n")
	}
}
