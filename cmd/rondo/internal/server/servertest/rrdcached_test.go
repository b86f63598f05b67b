package servertest

import (
	"bufio"
	"fmt"
	"math"
	"net"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// talk sends lines to a port of rrdcached's protocol and returns as many lines of answer.
func talk(t *testing.T, a net.Addr, lines ...string) []string {
	t.Helper()
	c, err := net.Dial(a.Network(), a.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // all was read
	if _, err := fmt.Fprintln(c, strings.Join(lines, "\n")); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	var out []string
	for range lines {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

func loopback(t *testing.T, settings string) rrdcached.Address {
	t.Helper()
	a, err := rrdcached.ParseAddress("127.0.0.1:0" + settings)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// defineGauges defines a series as the command line does for a name that says nothing.
func defineGauges(_ string, values int, sources []rra.DataSource, step int64) *rra.Definition {
	d := receivers.StandardDefinition(max(step, 5))
	if sources != nil {
		d.Sources = sources
		return d
	}
	for i := 1; i < values; i++ {
		d.Sources = append(d.Sources, rra.DataSource{Name: fmt.Sprint("value", i), Kind: rra.Gauge, Heartbeat: 10, Min: math.NaN(), Max: math.NaN()})
	}
	return d
}

func TestRRDCachedPorts(t *testing.T) {
	policy, err := sink.NewPolicy([]sink.Rule{
		{Path: "gw/*", Sources: []string{"DS:in:COUNTER:600:0:U", "DS:out:COUNTER:600:0:U"}, Step: 60},
		{Path: "host/*", Step: 7, Heartbeat: 70, Archives: []string{"RRA:LAST:0.5:1:5"}},
		{Step: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	r := start(t, server.Config{
		HTTP: anyPorts, Ways: server.Ways{Policy: policy}, Limits: sink.Options{SenderBurst: 3, SenderRate: 1},
		RRDCached: server.RRDCached{
			Options: rrdcached.Options{Base: base}, Named: true, Define: defineGauges,
			Addresses: []rrdcached.Address{loopback(t, ""), loopback(t, "?allow=PING+LAST")},
		},
	})
	if len(r.RRDCached) != 2 {
		t.Fatalf("listening at %v", r.RRDCached)
	}
	got := talk(t, r.RRDCached[0], "UPDATE gw/eth0.rrd 1000000060:1:2", "UPDATE "+base+"/host/load 1000000007:1", "UPDATE other 1000000007:1",
		"UPDATE gw/eth1.rrd 1000000060:1", "LAST gw/eth0.rrd", "LAST host/load.rrd")
	want := []string{
		"0 errors, enqueued 1 value(s).", "0 errors, enqueued 1 value(s).", "-1 No such file: " + base + "/other",
		"-1 series not made: 1 values for the 2 data sources of the rule", "0 1000000020", "0 1000000001",
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
	// What a rule says of a name without .rrd holds for the name with it.
	if got := talk(t, r.RRDCached[0], "UPDATE host/x.rrd 1000000007:1:2", "UPDATE host/y.rrd 1000000007:1"); got[0] != "0 errors, enqueued 1 value(s)." ||
		!strings.HasPrefix(got[1], "-1 series not made: ") {
		t.Errorf("the third and the fourth series of a sender that may make three: %q", got)
	}
	if got := talk(t, r.RRDCached[1], "PING", "UPDATE gw/eth0.rrd 1000000120:1:2", "LAST gw/eth0.rrd"); got[1] != "-1 Permission denied." || got[2] != "0 1000000020" {
		t.Errorf("with few commands allowed: %q", got)
	}
	_, page := get(t, r.url("/metrics"))
	for _, line := range []string{
		"rondo_rrdcached_connections_total 3", "rondo_rrdcached_samples_total 3", "rondo_series_made_total 3",
		`rondo_rrdcached_requests_total{command="UPDATE"} 7`, `rondo_rrdcached_errors_total{command="UPDATE"} 4`,
	} {
		if !strings.Contains(page, "\n"+line+"\n") {
			t.Errorf("no %s in\n%s", line, page)
		}
	}
	if _, page := get(t, r.url("/status")); !strings.Contains(page, "rrdcached at <code>"+r.RRDCached[0].String()) {
		t.Errorf("page:\n%s", page)
	}
	promtool(t, page)
}

func TestRRDCachedPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // nobody connects
	taken := []rrdcached.Address{{Network: "tcp", Addr: l.Addr().String()}, loopback(t, "")}
	err = server.Run(t.Context(), server.Config{DB: t.TempDir(), RRDCached: server.RRDCached{Addresses: taken, Named: true}})
	if err == nil || !strings.Contains(err.Error(), "--rrdcached "+l.Addr().String()) {
		t.Errorf("got %v, want an error that names --rrdcached and its address", err)
	}
	r := start(t, server.Config{RRDCached: server.RRDCached{Addresses: taken}})
	if len(r.RRDCached) != 1 || !strings.Contains(r.log.String(), "level=WARN") {
		t.Errorf("a default port that is taken is no warning: listening at %v\n%s", r.RRDCached, r.log)
	}
}
