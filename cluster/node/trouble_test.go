package node

import (
	"errors"
	"strings"
	"testing"
)

// TestTroubleInALine: what a node says of a replica has a line, and an end.
func TestTroubleInALine(t *testing.T) {
	long := strings.Repeat("ä", 100)
	for _, c := range []struct {
		standing Standing
		want     string
	}{
		{Standing{}, ""},
		{Standing{Err: errors.Join(errors.New("one"), errors.New("two"))}, "one; two"},
		{Standing{Err: errors.New("x" + long)}, "x" + long[:158]},
		{Standing{Err: errors.New("one"), Leads: true}, ""},
	} {
		if got := troubleOf(c.standing); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.standing, got, c.want)
		}
	}
}
