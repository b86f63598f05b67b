package rrdcached_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

// TestPage runs the session in docs/rrdcached.md: what is sent stands behind >, what is answered
// behind <.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/rrdcached.md")
	if err != nil {
		t.Fatal(err)
	}
	_, session, ok := strings.Cut(string(page), "```session\n")
	if !ok {
		t.Fatal("there is no session")
	}
	session, _, _ = strings.Cut(session, "```")
	s := serve(t, rrdcached.Options{}, 0)
	p := dial(t, s.addr)
	compared := 0
	for line := range strings.Lines(session) {
		if request, ok := strings.CutPrefix(line, "> "); ok {
			p.send(request)
			continue
		}
		want := strings.ReplaceAll(strings.TrimPrefix(line, "< "), "/base/", s.base+"/")
		if got := p.line(); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		compared++
	}
	if compared < 20 {
		t.Errorf("only %d lines compared", compared)
	}
}
