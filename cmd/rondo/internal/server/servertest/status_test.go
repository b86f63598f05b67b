package servertest

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

func status(t *testing.T, r *running, req *rondov1.StatusRequest) *rondov1.StatusResponse {
	t.Helper()
	answer, err := rondov1.NewRondoClient(http.DefaultClient, r.url("")).Status(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func hasProblem(st *rondov1.StatusResponse, id string) bool {
	return slices.ContainsFunc(st.GetProblems(), func(p *rondov1.Problem) bool { return p.GetId() == id })
}

// TestStatusTellsTheState: what receives, from whom, and what is wrong was shown only by counters.
func TestStatusTellsTheState(t *testing.T) {
	dir := t.TempDir()
	r := start(t, server.Config{
		DB: dir, Version: "1.2", HTTP: anyPorts, Ways: fakeWays(nil),
		RRDCached: server.RRDCached{Addresses: []rrdcached.Address{{Network: "unix", Addr: filepath.Join(dir, "rrdcached.sock")}}},
	})
	send(t, r.Receivers["fake"], "fake/one")
	send(t, r.Receivers["fake"], "drop")
	var st *rondov1.StatusResponse
	eventually(t, "the sample and the drop are counted", func() bool {
		st = status(t, r, &rondov1.StatusRequest{})
		return st.GetEngine().GetSamples() == 1 && hasProblem(st, "malformed/fake")
	})
	if st.GetVersion() != "1.2" || st.GetDatabase() != dir || st.GetStartedUs() <= 0 || st.GetNowUs() < st.GetStartedUs() {
		t.Errorf("the server: %v", st)
	}
	var names []string
	for _, l := range st.GetListeners() {
		if l.GetAddr() == "" || l.GetReachable() {
			t.Errorf("listener %v", l)
		}
		names = append(names, l.GetName())
	}
	if want := []string{"http", "fake", "rrdcached", "command line"}; !slices.Equal(names, want) {
		t.Errorf("listeners %q, want %q", names, want)
	}
	in := st.GetReceivers()
	if len(in) != 1 || in[0].GetName() != "fake" || in[0].GetPrefix() != "fake" || in[0].GetPackets() != 2 || in[0].GetSenders() != 1 {
		t.Fatalf("receivers: %v", in)
	}
	if d := in[0].GetDropped(); len(d) != 1 || d[0].GetReason() != "malformed" || d[0].GetCount() != 1 {
		t.Errorf("drops: %v", d)
	}
	from := st.GetSenders()
	if len(from) != 1 || from[0].GetReceiver() != "fake" || from[0].GetSamples() != 1 || from[0].GetSeries() != 1 || from[0].GetLastUs() <= 0 {
		t.Errorf("senders: %v", from)
	}
	e := st.GetEngine()
	if e.GetSeries() < 1 || e.GetMemoryBudgetBytes() <= 0 || e.GetDatabaseBytes() <= 0 || e.GetSeriesLimit() <= 0 {
		t.Errorf("engine: %v", e)
	}
}

// TestStatusListsSendersUpToAMost: an answer would grow with the number of senders.
func TestStatusListsSendersUpToAMost(t *testing.T) {
	r := start(t, server.Config{HTTP: anyPorts, Ways: fakeWays(nil)})
	const many = 5
	for i := range many {
		send(t, r.Receivers["fake"], fmt.Sprintf("p%d/one", i)) // the fake's senders differ by prefix
	}
	eventually(t, "all senders are there", func() bool {
		return status(t, r, &rondov1.StatusRequest{}).GetSendersTotal() == many
	})
	if st := status(t, r, &rondov1.StatusRequest{Senders: 2}); len(st.GetSenders()) != 2 || st.GetSendersTotal() != many {
		t.Errorf("%d senders of %d, want 2 of %d", len(st.GetSenders()), st.GetSendersTotal(), many)
	}
	code, text := post(t, r.url("/rondo.v1.Rondo/Status"), `{"senders":-1}`)
	if code != http.StatusBadRequest {
		t.Errorf("%d: %s", code, text)
	}
}

// TestStatusDuringReload: reloads that find a default address taken change what the status says,
// while others ask for it. The address is named once, and not after the receiver was turned off.
func TestStatusDuringReload(t *testing.T) {
	taken, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }() // nothing was written
	flag := "--fake " + taken.LocalAddr().String()
	on := fakeWays(nil)
	on.Receivers[0].Address = server.Address{Addr: taken.LocalAddr().String()}
	reload := make(chan server.Ways)
	r := start(t, server.Config{HTTP: anyPorts, Ways: on, Reload: reload})
	names := func() (n int) {
		for _, p := range status(t, r, &rondov1.StatusRequest{}).GetProblems() {
			n += strings.Count(p.GetText(), flag)
		}
		return n
	}
	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			for range 20 {
				names()
			}
		})
	}
	for range 20 {
		reload <- on
	}
	asking.Wait()
	reload <- on // the server takes it when it has done the one before
	off := fakeWays(nil)
	off.Receivers[0].Address = server.Address{}
	if n := names(); n > 1 {
		t.Errorf("the status names %s %d times", flag, n)
	}
	reload <- off
	reload <- off
	if n := names(); n != 0 {
		t.Errorf("the status names %s %d times, and the receiver is off", flag, n)
	}
}
