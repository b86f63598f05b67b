package servertest

import (
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/receivers/sink"
)

// TestReloadKeepsAllowances: a sender that may make two series may make two, however often the
// configuration is read; and the new policy is the one that holds.
func TestReloadKeepsAllowances(t *testing.T) {
	ways := fakeWays(nil)
	reload := make(chan server.Ways)
	r := start(t, server.Config{HTTP: anyPorts, Ways: ways, Reload: reload, Limits: sink.Options{SenderBurst: 2, SenderRate: 1}})
	refused := func(path, want string) {
		t.Helper()
		send(t, r.Receivers["fake"], path)
		eventually(t, "after "+path+": "+want, func() bool {
			_, page := get(t, r.url("/metrics"))
			return strings.Contains(page, "\n"+want+"\n")
		})
	}
	refused("one", "rondo_series_made_total 1")
	p, err := sink.NewPolicy([]sink.Rule{{Step: 77}})
	if err != nil {
		t.Fatal(err)
	}
	// The address stays: a port of the system's choice would be another.
	next := server.Ways{Receivers: []server.Receiver{ways.Receivers[0]}, Policy: p}
	next.Receivers[0].Address.Addr = r.Receivers["fake"].String()
	reload <- next
	eventually(t, "the configuration is read again", func() bool {
		return strings.Contains(r.log.String(), "configuration read again")
	})
	refused("two", "rondo_series_made_total 2")
	refused("three", `rondo_series_refused_total{reason="sender_limit"} 1`)
	if code, body := post(t, r.url("/rondo.v1.Rondo/Info"), `{"path":"two"}`); code != 200 || !strings.Contains(body, `77`) {
		t.Errorf("the second series: %d, %s", code, body)
	}
	if _, page := get(t, r.url("/metrics")); !strings.Contains(page, `rondo_series_refused_total{reason="series_limit"} 0`) {
		t.Errorf("metrics:\n%s", page)
	}
}
