package web_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/web"
	"github.com/rondo-db/rondo/rra"
)

const vm = "ecd8d7a0-1be3-4d91-bd0e-4888c0e30ab3"

// newRRDD returns a server with series as the receiver of rrdd makes them.
func newRRDD(t *testing.T) *web.Server {
	t.Helper()
	s, store := newServer(t)
	d, err := rra.ParseDefinition(5, []string{"DS:value:GAUGE:300:U:U", "RRA:AVERAGE:0.5:1:120", "RRA:AVERAGE:0.5:12:120", "RRA:AVERAGE:0.5:720:168"})
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range []string{"rrdd/xen/host/load & <b>", "rrdd/xen/sr/5f/io", "rrdd/xen/vm/" + vm + "/cpu0", "rrdd/odd", "other/x"} {
		ref, err := store.Create(t.Context(), core.Spec{Path: path, Definition: d, Start: rra.Time((begin - 5) * 1e6)})
		if err != nil {
			t.Fatal(err)
		}
		var b core.Batch
		for at := int64(begin); at <= begin+300; at += 5 {
			b.Add(ref, rra.Time(at*1e6), rra.Float(float64(i)+float64(at-begin)/1000))
		}
		if err := store.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	c := s.Config
	c.Now = func() time.Time { return time.Unix(begin+303, 0) }
	return web.New(c)
}

// xport is what consumers read.
type xport struct {
	Start   int64    `xml:"meta>start"`
	Step    int64    `xml:"meta>step"`
	End     int64    `xml:"meta>end"`
	Rows    int      `xml:"meta>rows"`
	Columns int      `xml:"meta>columns"`
	Legend  []string `xml:"meta>legend>entry"`
	Data    []struct {
		T int64     `xml:"t"`
		V []float64 `xml:"v"`
	} `xml:"data>row"`
}

func TestUpdates(t *testing.T) {
	s := newRRDD(t)
	r, body := ask(t, s, "GET", fmt.Sprintf("/rrd_updates?start=%d&cf=AVERAGE&interval=5&host=true", begin+270))
	if r.StatusCode != http.StatusOK || strings.ContainsAny(body, "\n\t") || strings.Contains(body, "> <") {
		t.Fatalf("%s\n%s", r.Status, body)
	}
	var x xport
	if err := xml.Unmarshal([]byte(body), &x); err != nil {
		t.Fatalf("%v in\n%s", err, body)
	}
	if x.Start != begin+270 || x.Step != 5 || x.End != begin+300 || x.Rows != 7 || x.Columns != 2 || len(x.Data) != 7 {
		t.Errorf("got %+v", x)
	}
	want := []string{"AVERAGE:host:00000000-0000-0000-0000-000000000000:load & <b>", "AVERAGE:vm:" + vm + ":cpu0"}
	if strings.Join(x.Legend, "\n") != strings.Join(want, "\n") {
		t.Errorf("legend %q, want %q", x.Legend, want)
	}
	if first := x.Data[0]; first.T != begin+300 || first.V[0] != 0.3 || first.V[1] != 2.3 || x.Data[6].T != begin+270 {
		t.Errorf("the newest row comes first: %+v", x.Data)
	}
}

func TestUpdatesAsJSON(t *testing.T) {
	s := newRRDD(t)
	_, body := ask(t, s, "GET", "/rrd_updates?start=-60&json=true&sr_uuid=5f&vm_uuid=none&interval=60")
	var x struct {
		Meta struct {
			Start, Step, End int64
			Rows, Columns    int
			Legend           []string
		}
		Data []struct {
			T      int64
			Values []string
		}
	}
	if err := json.Unmarshal([]byte(body), &x); err != nil {
		t.Fatalf("%v in\n%s", err, body)
	}
	if m := x.Meta; m.Step != 60 || m.End != begin+300 || m.Rows != 2 || m.Columns != 1 || m.Legend[0] != "AVERAGE:sr:5f:io" {
		t.Errorf("meta %+v", m)
	}
	if v, err := strconv.ParseFloat(x.Data[0].Values[0], 64); err != nil || x.Data[0].T != begin+300 || v < 1.27 || v > 1.28 {
		t.Errorf("data %+v, %v", x.Data, err)
	}
}

// TestUpdatesChooseTheArchive: the daemon gives rows of the finest archive that is as coarse as the
// interval and reaches back to start.
func TestUpdatesChooseTheArchive(t *testing.T) {
	s := newRRDD(t)
	for query, step := range map[string]int64{
		"start=-60": 5, "start=-600": 5, "start=-601": 60, "start=-60&interval=6": 60, "start=-60&interval=3600": 3600, "start=0": 3600, "start=-60&interval=99999": 3600,
	} {
		var x xport
		if _, body := ask(t, s, "GET", "/rrd_updates?"+query); xml.Unmarshal([]byte(body), &x) != nil || x.Step != step {
			t.Errorf("%s: a step of %d, want %d", query, x.Step, step)
		}
	}
}

func TestUpdatesRefuse(t *testing.T) {
	s := newRRDD(t)
	for query, want := range map[string]string{
		"": "start", "start=x": "start", "start=9223372036854775807": "start", "start=0&interval=-1": "interval", "start=0&cf=SUM": "cf", "start=0&vm_uuid=%ff": "UTF-8",
		"start=%zz": "malformed",
	} {
		if r, body := ask(t, s, "GET", "/rrd_updates?"+query); r.StatusCode != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Errorf("%s: %s %s", query, r.Status, body)
		}
	}
	for _, query := range []string{"start=0&vm_uuid=nosuch", "start=0&cf=MAX", "start=2000000000", "start=-4000000000"} {
		var x xport
		if r, body := ask(t, s, "GET", "/rrd_updates?"+query); r.StatusCode != http.StatusOK || xml.Unmarshal([]byte(body), &x) != nil {
			t.Errorf("%s: %s %s", query, r.Status, body)
		}
	}
}
