//go:build !race

package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestYoungHostOpensWithAShortRange: what has sent for two minutes is seen as more than a dot, and an
// address that names a range keeps it.
func TestYoungHostOpensWithAShortRange(t *testing.T) {
	s := hosting(t)
	var lines strings.Builder
	for at := time.Now().Unix() - 120; at <= time.Now().Unix(); at += 10 {
		fmt.Fprintf(&lines, "room,place=attic celsius=%d.5 %d\n", 20+at%7, at)
	}
	r, err := http.Post(s.url+"/write?precision=s", "text/plain", strings.NewReader(lines.String()))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Body.Close(); err != nil || r.StatusCode != http.StatusNoContent {
		t.Fatal(r.Status, err)
	}
	const minutes = `(([, a, b, c, d]) => ((c * 60 + +d) - (a * 60 + +b) + 1440) % 1440)(/(\d\d):(\d\d).* (\d\d):(\d\d)/.exec(document.querySelector('.printed').textContent))`
	x := newTab(t, s.url)
	x.open("/host/influx")
	x.wait("15 minutes are shown", minutes+" === 15")
	x.charts(1)
	x.keep("young")
	x.open("/host/influx?from=-3h")
	x.charts(1)
	if got := eval[int](x, minutes); got != 180 {
		t.Errorf("the address says three hours: %d minutes are shown", got)
	}
}
