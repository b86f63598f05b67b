package web

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/graph"
)

// TestGraphsAreReadOnce: a graph is read before it waits for its place, so reading it twice would
// double what a refused one costs. The measure is what reading allocates.
func TestGraphsAreReadOnce(t *testing.T) {
	s := New(Config{Store: enginetest.Open(t), Location: time.UTC})
	v := url.Values{"from": {"-1h"}, "arg": {"DEF:d0=nosuch:v:AVERAGE"}}
	for i := range 200 {
		v.Add("arg", fmt.Sprintf("CDEF:c%d=d0,1,+,2,*,3,-,4,/,UN,5,6,IF,7,8,9,10,+,+,+,+", i))
	}
	v.Add("arg", "LINE:c0#ff0000")
	q, err := s.ask(nil, "svg", v.Encode())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	once := testing.AllocsPerRun(20, func() {
		if _, err := s.sketch(q, now, func(*graph.Options) time.Time { return now }); err != nil {
			t.Fatal(err)
		}
	})
	asking := testing.AllocsPerRun(20, func() {
		if _, err := s.ask(nil, "svg", v.Encode()); err != nil {
			t.Fatal(err)
		}
	})
	whole := testing.AllocsPerRun(20, func() {
		if _, err := s.prepare(t.Context(), "svg", v.Encode()); err == nil {
			t.Fatal("a graph of a series that is not there is prepared")
		}
	})
	if whole-asking > 1.5*once {
		t.Errorf("reading a graph allocates %.0f times, answering for it %.0f times", once, whole-asking)
	}
}
