package cluster

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/natstest"
	"github.com/rondo-db/rondo/query/dashboards"
)

// saveDashboards saves dashboards on a, which b and c have then, and changes one on b.
func saveDashboards(t *testing.T, a, b, c *rondotest.Daemon) {
	t.Helper()
	web := map[string]string{"name": "web", "text": "title: Web\ngraph: Limit\nHRULE:5#f00:limit\n"}
	if code, body := asks(t, a, "SaveDashboard", web); code != http.StatusOK {
		t.Fatalf("saved: %d %s", code, body)
	}
	all := []*rondotest.Daemon{a, b, c}
	awaits(t, all, "Web")
	if r, err := http.Get(c.URL + "/graph.svg?dashboard=web&from=-1h"); err != nil || r.StatusCode != http.StatusOK || r.Body.Close() != nil {
		t.Errorf("drawn on another node: %v, %v", r, err)
	}
	web["text"] = "title: Another\n"
	if code, body := asks(t, b, "SaveDashboard", web); code != http.StatusOK {
		t.Errorf("changed on another node: %d %s", code, body)
	}
	awaits(t, all, "Another")
	for _, name := range []string{"stays", "goes"} {
		long := "title: " + name + "\n" + strings.Repeat("# 15 bytes long\n", 8000)
		if code, body := asks(t, a, "SaveDashboard", map[string]string{"name": name, "text": long}); code != http.StatusOK {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
}

// dropDashboard finds on b and c what a had saved, which was killed. It drops one on c, and leaves
// one in the folder of a, which goes into the cluster when a comes back.
func dropDashboard(t *testing.T, folder string, b, c *rondotest.Daemon) {
	t.Helper()
	awaits(t, []*rondotest.Daemon{c}, "goes", "stays", "Another")
	if code, body := asks(t, c, "DropDashboard", map[string]string{"name": "goes"}); code != http.StatusOK {
		t.Errorf("dropped: %d %s", code, body)
	}
	if code, body := asks(t, c, "DropDashboard", map[string]string{"name": "goes"}); code != http.StatusNotFound || !strings.Contains(body, "there is no dashboard goes") {
		t.Errorf("dropped twice: %d %s", code, body)
	}
	awaits(t, []*rondotest.Daemon{b}, "stays", "Another")
	if err := dashboards.In(folder).Keep("of-a", "title: of a node"); err != nil {
		t.Fatal(err)
	}
}

// withoutServers kills all servers of NATS: a node shows the dashboards, and saves none.
func withoutServers(t *testing.T, nats *natstest.Cluster, d *rondotest.Daemon) {
	t.Helper()
	for _, s := range nats.Nodes {
		s.Kill()
	}
	if code, body := asks(t, d, "SaveDashboard", map[string]string{"name": "web", "text": "title: Web\n"}); code != http.StatusServiceUnavailable || !strings.Contains(body, `"unavailable"`) || !strings.Contains(body, "try again") {
		t.Errorf("saved while no server answers: %d %s", code, body)
	}
	awaits(t, []*rondotest.Daemon{d}, "of a node", "stays", "Another")
	d.Kill(t) // without servers it would hand on its leases for long
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

// awaits waits until nodes have dashboards with these titles, in the order of their names, and no
// others.
func awaits(t *testing.T, nodes []*rondotest.Daemon, titles ...string) {
	t.Helper()
	for _, d := range nodes {
		want, got := strings.Join(titles, ","), "nothing"
		for deadline := time.Now().Add(time.Minute); got != want; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("got %q, want %q; log: %s", got, want, d.Log.String())
			}
			code, body := asks(t, d, "Dashboards", struct{}{})
			var list struct{ Dashboards []dashboards.Entry }
			if err := json.Unmarshal([]byte(body), &list); err != nil || code != http.StatusOK {
				t.Fatalf("%d %s: %v", code, body, err)
			}
			var found []string
			for _, e := range list.Dashboards {
				found = append(found, e.Title)
			}
			got = strings.Join(found, ",")
		}
	}
}
