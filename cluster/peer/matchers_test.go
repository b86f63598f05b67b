package peer_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
)

// TestExpressionsOfMatchers that have no text reach the other node.
func TestExpressionsOfMatchers(t *testing.T) {
	s := enginetest.Open(t)
	for _, name := range []string{"a", "b", "c"} {
		ref := gauge(t, s, name)
		if _, err := s.Relabel(t.Context(), []core.PathLabels{{Path: name, Labels: []core.Label{{Name: "x", Value: name}}}}); err != nil {
			t.Fatal(ref, err)
		}
	}
	c := partition(t, serve(t, of(s)).URL, peer.Options{})
	ms := []core.Matcher{{Name: "x", Op: core.MatchRegexp, Regexp: regexp.MustCompile("^(?s:a|c)$")}}
	want, err := core.Refs(t.Context(), s, ms)
	if err != nil || len(want) != 2 {
		t.Fatal(want, err)
	}
	if got, err := core.Refs(t.Context(), c, ms); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}
