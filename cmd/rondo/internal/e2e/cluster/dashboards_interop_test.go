package cluster

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/natstest"
	"github.com/rondo-db/rondo/query/dashboards"
)

// TestClusterDashboards: three nodes over three real nats-servers have the same dashboards. One
// that a saves is read on b, drawn on c, changed on b and dropped on c. What a saved is there when
// a is killed, and while no server answers. What was in the folder of a node goes into the cluster.
func TestClusterDashboards(t *testing.T) {
	t.Parallel() // most of it is waiting
	nats := natstest.Three(t)
	dir := t.TempDir()
	start := func(name string) *rondotest.Daemon {
		return rondotest.Serve(t, filepath.Join(dir, name), "--node", name, "--cluster", nats.URLs(), "--cluster-monitor", strings.Join(nats.Monitors(), ","),
			"--cluster-listen", "127.0.0.1:0", "--cluster-partitions", "3", "--cluster-log", "64M")
	}
	a, b, c := start("a"), start("b"), start("c")
	web := map[string]string{"name": "web", "text": "title: Web\ngraph: Limit\nHRULE:5#f00:limit\n"}
	if code, body := asks(t, a, "SaveDashboard", web); code != http.StatusOK {
		t.Fatalf("saved: %d %s", code, body)
	}
	awaits(t, a, "Web")
	awaits(t, b, "Web")
	awaits(t, c, "Web")
	if r, err := http.Get(c.URL + "/graph.svg?dashboard=web&from=-1h"); err != nil || r.StatusCode != http.StatusOK || r.Body.Close() != nil {
		t.Errorf("drawn on c: %v, %v", r, err)
	}
	web["text"] = "title: Another\n"
	if code, body := asks(t, b, "SaveDashboard", web); code != http.StatusOK {
		t.Errorf("changed on b: %d %s", code, body)
	}
	awaits(t, c, "Another")
	awaits(t, a, "Another")
	for _, name := range []string{"stays", "goes"} {
		long := "title: " + name + "\n" + strings.Repeat("# 15 bytes long\n", 8000)
		if code, body := asks(t, a, "SaveDashboard", map[string]string{"name": name, "text": long}); code != http.StatusOK {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	a.Kill(t)
	awaits(t, c, "goes", "stays", "Another")
	if code, body := asks(t, c, "DropDashboard", map[string]string{"name": "goes"}); code != http.StatusOK {
		t.Errorf("dropped on c: %d %s", code, body)
	}
	if code, body := asks(t, c, "DropDashboard", map[string]string{"name": "goes"}); code != http.StatusNotFound || !strings.Contains(body, "there is no dashboard goes") {
		t.Errorf("dropped twice: %d %s", code, body)
	}
	awaits(t, b, "stays", "Another")
	if err := dashboards.In(filepath.Join(dir, "a")).Keep("of-a", "title: of a"); err != nil {
		t.Fatal(err)
	}
	a = start("a")
	for _, d := range []*rondotest.Daemon{a, b, c} {
		awaits(t, d, "of a", "stays", "Another")
	}
	for _, s := range nats.Nodes {
		s.Kill()
	}
	if code, body := asks(t, b, "SaveDashboard", web); code != http.StatusServiceUnavailable || !strings.Contains(body, `"unavailable"`) || !strings.Contains(body, "try again") {
		t.Errorf("saved while no server answers: %d %s", code, body)
	}
	awaits(t, b, "of a", "stays", "Another")
	for _, d := range []*rondotest.Daemon{a, b, c} {
		d.Kill(t) // without servers it would hand on its leases for long
	}
}

// asks calls a method of the RPC, and returns the code and the answer.
func asks(t *testing.T, d *rondotest.Daemon, method string, request any) (int, string) {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Post(d.URL+"/rondo.v1.Rondo/"+method, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }() // it was read
	answer, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(answer)
}

// awaits waits until a node has dashboards with these titles, in the order of their names, and no
// others.
func awaits(t *testing.T, d *rondotest.Daemon, titles ...string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		code, body := asks(t, d, "Dashboards", struct{}{})
		var list struct{ Dashboards []dashboards.Entry }
		if err := json.Unmarshal([]byte(body), &list); err != nil || code != http.StatusOK {
			t.Fatalf("%d %s: %v", code, body, err)
		}
		var got []string
		for _, e := range list.Dashboards {
			got = append(got, e.Title)
		}
		if strings.Join(got, ",") == strings.Join(titles, ",") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %q, want %q; log: %s", got, titles, d.Log.String())
		}
	}
}
