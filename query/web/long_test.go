package web_test

import (
	"net/http"
	"testing"
)

// TestGraphOfALongTime: a year of a series that keeps hours was refused, because the rows counted
// that it does not have.
func TestGraphOfALongTime(t *testing.T) {
	s, _, _, _ := newGraphs(t)
	args := []string{"arg", "DEF:a=net/eth0:in:AVERAGE", "arg", "DEF:b=net/eth0:out:AVERAGE", "arg", "LINE:a#ff0000:in", "arg", "LINE:b#00ff00:out", "from", "-2year"}
	if r, body := ask(t, s, "GET", address("svg", args...)); r.StatusCode != http.StatusOK {
		t.Errorf("%s %s", r.Status, body)
	}
}
