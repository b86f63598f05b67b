package servertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	linesreceiver "github.com/rondo-db/rondo/receivers/lines"
)

// TestExampleReceiver: the receiver of docs/adding-a-receiver.md works in a server.
func TestExampleReceiver(t *testing.T) {
	r := start(t, server.Config{HTTP: anyPorts, Ways: server.Ways{Receivers: []server.Receiver{{Protocol: linesreceiver.Protocol, Address: anyPort}}}})
	send(t, r.Receivers["lines"], fmt.Sprintf("web1.load 0.75 %d\nno line\n", time.Now().Unix()))
	eventually(t, "the value is stored", func() bool {
		code, body := post(t, r.url("/rondo.v1.Rondo/Info"), `{"path":"lines/web1.load"}`)
		return code == 200 && strings.Contains(body, "web1.load")
	})
	_, page := get(t, r.url("/metrics"))
	for _, want := range []string{`receiver="lines"`, `reason="malformed"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in the metrics:\n%s", want, page)
		}
	}
}
