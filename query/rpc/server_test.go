package rpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// epoch is the present of the servers in these tests.
const epoch = 1_700_000_000

// serve serves a new store over loopback, HTTP/1 and HTTP/2, and returns the store and the URL.
func serve(t *testing.T) (*core.Store, string) {
	t.Helper()
	store := enginetest.Open(t)
	s := &rpc.Server{
		Store: store, Version: "test", Started: time.Unix(epoch-60, 0),
		MaxFuture: time.Hour,
		Now:       func() time.Time { return time.Unix(epoch, 0).UTC() },
	}
	mux := http.NewServeMux()
	mux.Handle(s.Handler(nil))
	h := httptest.NewUnstartedServer(mux)
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	h.Config.Protocols = &p
	h.Start()
	t.Cleanup(h.Close)
	return store, h.URL
}

// protocols are the ways a client may speak.
var protocols = []struct {
	name    string
	options []connect.ClientOption
	h2      bool
}{
	{"connect", nil, false},
	{"json", []connect.ClientOption{connect.WithProtoJSON()}, false},
	{"grpc", []connect.ClientOption{connect.WithGRPC()}, true},
	{"grpc-web", []connect.ClientOption{connect.WithGRPCWeb()}, false},
}

func client(t *testing.T, url string, h2 bool, options ...connect.ClientOption) rondov1.RondoClient {
	t.Helper()
	var p http.Protocols
	p.SetHTTP1(!h2)
	p.SetUnencryptedHTTP2(h2)
	tr := &http.Transport{Protocols: &p}
	t.Cleanup(tr.CloseIdleConnections)
	return rondov1.NewRondoClient(&http.Client{Transport: tr}, url, options...)
}

func create(t *testing.T, c rondov1.RondoClient, path string, labels ...*typesv1.Label) uint64 {
	t.Helper()
	r, err := c.Create(t.Context(), &rondov1.CreateRequest{
		Path: path, Labels: labels, Start: "1699999000",
		Definition: &rondov1.Definition{
			Step: 10,
			Ds:   []string{"DS:in:COUNTER:20:0:U", "DS:level:GAUGE:20:U:U"},
			Rra:  []string{"RRA:AVERAGE:0.5:1:100", "RRA:MAX:0.5:1m:1h"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.GetRef()
}

func write(t *testing.T, c rondov1.RondoClient, samples ...*rondov1.Sample) *rondov1.WriteResponse {
	t.Helper()
	r, err := c.Write(t.Context(), &rondov1.WriteRequest{Samples: samples})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEveryProtocol(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			_, url := serve(t)
			c := client(t, url, p.h2, p.options...)
			ref := create(t, c, "web1/net")
			got := write(
				t, c,
				&rondov1.Sample{Path: "web1/net", Update: "1699999010:100:1.5"},
				&rondov1.Sample{Ref: ref, TimeUs: 1699999020e6, Values: []*rondov1.Value{
					{Value: &rondov1.Value_Int{Int: 200}}, {Value: &rondov1.Value_Float{Float: 2.5}},
				}},
				&rondov1.Sample{Path: "web1/net", TimeUs: 1699999030e6, Values: []*rondov1.Value{
					{Value: &rondov1.Value_Text{Text: "300"}}, {Value: &rondov1.Value_Text{Text: "-0.5"}},
				}},
			)
			if got.GetAccepted() != 3 || got.GetLate() != 0 || got.GetRefused() != 0 {
				t.Fatalf("write: %v", got)
			}
			r, err := c.Fetch(t.Context(), &rondov1.FetchRequest{
				Path: "web1/net", Cf: "average", Start: "1699999000", End: "1699999029", // up to the last row there is
			})
			if err != nil {
				t.Fatal(err)
			}
			m := r
			if m.GetPath() != "web1/net" || m.GetStart() != 1699999000 || m.GetStep() != 10 || len(m.GetColumns()) != 2 {
				t.Fatalf("fetch: %v", m)
			}
			in, level := m.GetColumns()[0], m.GetColumns()[1]
			if in.GetDs() != "in" || level.GetDs() != "level" || len(in.GetValues()) != 3 || len(level.GetValues()) != 3 {
				t.Fatalf("fetch: %v", m)
			}
			nan := math.NaN()
			want := [][]float64{{nan, 10, 10}, {1.5, 2.5, -0.5}}
			for i, values := range [][]float64{in.GetValues()[:3], level.GetValues()[:3]} {
				for j, v := range values {
					if math.Float64bits(v) != math.Float64bits(want[i][j]) && !(math.IsNaN(v) && math.IsNaN(want[i][j])) {
						t.Errorf("column %d, row %d: got %v, want %v", i, j, v, want[i][j])
					}
				}
			}
			info, err := c.Info(t.Context(), &rondov1.InfoRequest{Path: "web1/net"})
			if err != nil {
				t.Fatal(err)
			}
			if info.GetLastUpdateUs() != 1699999030e6 || info.GetSources()[0].GetLastReading() != "300" {
				t.Errorf("info: %v", info)
			}
			wantRRA := []string{"RRA:AVERAGE:0.5:1:100", "RRA:MAX:0.5:6:60"}
			if diff := cmp.Diff(wantRRA, info.GetSeries().GetDefinition().GetRra()); diff != "" {
				t.Errorf("archives (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriteTellsWhatIsRefused(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	values := func(vs ...*rondov1.Value) []*rondov1.Value { return vs }
	one := &rondov1.Value{Value: &rondov1.Value_Int{Int: 1}}
	half := &rondov1.Value{Value: &rondov1.Value_Float{Float: 0.5}}
	for _, tt := range []struct {
		name   string
		sample *rondov1.Sample
		want   string
	}{
		{"no such series", &rondov1.Sample{Path: "b", Update: "N:1:1"}, `"b": no such series`},
		{"no such ref", &rondov1.Sample{Ref: 1 << 60, Update: "N:1:1"}, "no such series"},
		{"too few", &rondov1.Sample{Path: "a", Values: values(one)}, "wrong number of values"},
		{"too many", &rondov1.Sample{Path: "a", Values: values(one, one, one)}, "wrong number of values"},
		{"too few in update", &rondov1.Sample{Path: "a", Update: "N:1"}, "wrong number of values"},
		{"too many in update", &rondov1.Sample{Path: "a", Update: "N:1:2:3"}, "wrong number of values"},
		{"no values", &rondov1.Sample{Path: "a", Update: "N"}, "no values"},
		{"no time", &rondov1.Sample{Path: "a", Update: "soon:1:2"}, "is no time"},
		{"infinite time", &rondov1.Sample{Path: "a", Update: "1e300:1:2"}, "is no time"},
		{"no number", &rondov1.Sample{Path: "a", Update: "N:one:2"}, "data source in"},
		{"half a count", &rondov1.Sample{Path: "a", Values: values(half, half)}, "data source in"},
		{"future", &rondov1.Sample{Path: "a", TimeUs: (epoch + 7200) * 1e6, Values: values(one, one)}, "ahead"},
		{"a long text", &rondov1.Sample{Path: "a", Update: "N:" + strings.Repeat("1", 5000) + ":1"}, "5000 bytes"},
		{"a time out of range", &rondov1.Sample{Path: "a", TimeUs: -1 << 62, Values: values(one, one)}, "out of range"},
		{"both forms", &rondov1.Sample{Path: "a", TimeUs: 5, Update: "N:1:1"}, "beside"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := write(t, c, tt.sample)
			if got.GetAccepted() != 0 || got.GetRefused() != 1 || len(got.GetRejections()) != 1 {
				t.Fatalf("got %v", got)
			}
			if s := got.GetRejections()[0].GetError(); !strings.Contains(s, tt.want) {
				t.Errorf("got %q, want …%s…", s, tt.want)
			}
		})
	}
	// One bad sample does not keep the others out. Its index counts the samples of the request.
	got := write(
		t, c,
		&rondov1.Sample{Path: "b", Update: "N:1:1"},
		&rondov1.Sample{Path: "a", Update: "1699999100:1:1"},
		&rondov1.Sample{Path: "a", Update: "1699999050:1:1"},
	)
	if got.GetAccepted() != 1 || got.GetRefused() != 1 || got.GetLate() != 1 {
		t.Errorf("got %v", got)
	}
	var at []int64
	for _, r := range got.GetRejections() {
		at = append(at, r.GetIndex())
	}
	if diff := cmp.Diff([]int64{0, 2}, at); diff != "" {
		t.Errorf("indices of rejections (-want +got):\n%s", diff)
	}
}

func TestCodes(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	ctx := t.Context()
	definition := &rondov1.Definition{Ds: []string{"DS:v:GAUGE:20:U:U"}, Rra: []string{"RRA:LAST:0.5:1:10"}}
	bad := &rondov1.Definition{Ds: []string{"DS:v:NOSUCH:20:U:U"}, Rra: []string{"RRA:LAST:0.5:1:10"}}
	for _, tt := range []struct {
		name string
		call func() error
		want connect.Code
	}{
		{"create twice", func() error { return call(c.Create, ctx, &rondov1.CreateRequest{Path: "a", Definition: definition}) }, connect.CodeAlreadyExists},
		{"create without path", func() error { return call(c.Create, ctx, &rondov1.CreateRequest{Definition: definition}) }, connect.CodeInvalidArgument},
		{"create nonsense", func() error { return call(c.Create, ctx, &rondov1.CreateRequest{Path: "n", Definition: bad}) }, connect.CodeInvalidArgument},
		{"create of nothing", func() error { return call(c.Create, ctx, &rondov1.CreateRequest{Path: "n"}) }, connect.CodeInvalidArgument},
		{"bad start", func() error {
			return call(c.Create, ctx, &rondov1.CreateRequest{Path: "n", Definition: definition, Start: "never"})
		}, connect.CodeInvalidArgument},
		{"drop unknown", func() error { return call(c.Drop, ctx, &rondov1.DropRequest{Path: "n"}) }, connect.CodeNotFound},
		{"rename unknown", func() error { return call(c.Rename, ctx, &rondov1.RenameRequest{Path: "n", To: "m"}) }, connect.CodeNotFound},
		{"rename to nothing", func() error { return call(c.Rename, ctx, &rondov1.RenameRequest{Path: "a"}) }, connect.CodeInvalidArgument},
		{"fetch unknown", func() error { return call(c.Fetch, ctx, &rondov1.FetchRequest{Path: "n"}) }, connect.CodeNotFound},
		{"fetch nothing", func() error { return call(c.Fetch, ctx, &rondov1.FetchRequest{}) }, connect.CodeInvalidArgument},
		{"fetch bad cf", func() error { return call(c.Fetch, ctx, &rondov1.FetchRequest{Path: "a", Cf: "MEAN"}) }, connect.CodeInvalidArgument},
		{"fetch absent cf", func() error { return call(c.Fetch, ctx, &rondov1.FetchRequest{Path: "a", Cf: "HWPREDICT"}) }, connect.CodeNotFound},
		{"fetch bad time", func() error { return call(c.Fetch, ctx, &rondov1.FetchRequest{Path: "a", Start: "x"}) }, connect.CodeInvalidArgument},
		{"fetch backwards", func() error { return call(c.Fetch, ctx, &rondov1.FetchRequest{Path: "a", Start: "now", End: "-1d"}) }, connect.CodeInvalidArgument},
		{"fetch all time", func() error { return call(c.Fetch, ctx, &rondov1.FetchRequest{Path: "a", Start: "1000000000"}) }, connect.CodeResourceExhausted},
		{"info unknown", func() error { return call(c.Info, ctx, &rondov1.InfoRequest{Ref: 1 << 60}) }, connect.CodeNotFound},
		{"bad matcher", func() error {
			return call(c.List, ctx, &rondov1.ListRequest{Matchers: []*typesv1.Matcher{{Name: "a", Op: "~"}}})
		}, connect.CodeInvalidArgument},
		{"bad expression", func() error {
			return call(c.List, ctx, &rondov1.ListRequest{Matchers: []*typesv1.Matcher{{Name: "a", Op: "=~", Value: "("}}})
		}, connect.CodeInvalidArgument},
		{"bad page", func() error {
			return call(c.List, ctx, &rondov1.ListRequest{Page: "x", Matchers: []*typesv1.Matcher{{Name: "a"}}})
		}, connect.CodeInvalidArgument},
		{"negative limit", func() error { return call(c.List, ctx, &rondov1.ListRequest{Limit: -1}) }, connect.CodeInvalidArgument},
		{"too many samples", func() error {
			return call(c.Write, ctx, &rondov1.WriteRequest{Samples: make([]*rondov1.Sample, 100_001)})
		}, connect.CodeInvalidArgument},
		{"too long", func() error {
			return call(c.Write, ctx, &rondov1.WriteRequest{Samples: []*rondov1.Sample{{Update: strings.Repeat("1", 5<<20)}}})
		}, connect.CodeResourceExhausted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.call()
			if err == nil || connect.CodeOf(err) != tt.want {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func call[Q, A any](f func(context.Context, *Q) (*A, error), ctx context.Context, m *Q) error {
	_, err := f(ctx, m)
	return err
}

func TestListPages(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	var all []string
	for _, host := range []string{"db1", "web1", "web2", "web3"} {
		for _, what := range []string{"cpu", "mem"} {
			create(t, c, host+"/"+what, &typesv1.Label{Name: "host", Value: host}, &typesv1.Label{Name: "what", Value: what})
			all = append(all, host+"/"+what)
		}
	}
	list := func(m *rondov1.ListRequest) (paths []string, pages int) {
		t.Helper()
		for {
			r, err := c.List(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			pages++
			for _, s := range r.GetSeries() {
				paths = append(paths, s.GetPath())
			}
			if m.Page = r.GetNextPage(); m.GetPage() == "" {
				return paths, pages
			}
		}
	}
	web := all[2:]
	for _, tt := range []struct {
		name  string
		req   *rondov1.ListRequest
		want  []string
		pages int
	}{
		{"all", &rondov1.ListRequest{}, all, 1},
		{"prefix", &rondov1.ListRequest{Prefix: "web"}, web, 1},
		{"pages", &rondov1.ListRequest{Prefix: "web", Limit: 2}, web, 3},
		{"last page short", &rondov1.ListRequest{Prefix: "web", Limit: 4}, web, 2},
		{"label", &rondov1.ListRequest{Matchers: []*typesv1.Matcher{{Name: "host", Value: "web2"}}}, []string{"web2/cpu", "web2/mem"}, 1},
		{"expression, pages", &rondov1.ListRequest{Limit: 2, Matchers: []*typesv1.Matcher{
			{Name: "host", Op: "=~", Value: "web.|x"}, {Name: "what", Op: "!=", Value: "mem"},
		}}, []string{"web1/cpu", "web2/cpu", "web3/cpu"}, 2},
		{"anchored", &rondov1.ListRequest{Matchers: []*typesv1.Matcher{{Name: "host", Op: "=~", Value: "web"}}}, nil, 1},
		{"label and prefix", &rondov1.ListRequest{Prefix: "db", Matchers: []*typesv1.Matcher{{Name: "what", Op: "!~", Value: "c.*"}}}, []string{"db1/mem"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, pages := list(tt.req)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
			if pages != tt.pages {
				t.Errorf("%d pages, want %d", pages, tt.pages)
			}
		})
	}
	r, err := c.Labels(t.Context(), &rondov1.LabelsRequest{Name: "host"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"db1", "web1", "web2", "web3"}, r.GetValues()); diff != "" {
		t.Errorf("values of host (-want +got):\n%s", diff)
	}
}

func TestDropAndRename(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	ctx := t.Context()
	if err := call(c.Rename, ctx, &rondov1.RenameRequest{Path: "a", To: "b"}); err != nil {
		t.Fatal(err)
	}
	if got := write(t, c, &rondov1.Sample{Path: "b", Update: "1699999100:1:1"}); got.GetAccepted() != 1 {
		t.Errorf("write to the new name: %v", got)
	}
	if err := call(c.Drop, ctx, &rondov1.DropRequest{Path: "b"}); err != nil {
		t.Fatal(err)
	}
	if err := call(c.Info, ctx, &rondov1.InfoRequest{Path: "b"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("info of a dropped series: %v", err)
	}
	if err := call(c.Checkpoint, ctx, &rondov1.CheckpointRequest{}); err != nil {
		t.Error(err)
	}
	st, err := c.Stats(ctx, &rondov1.StatsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if st.GetSeries() != 0 || st.GetSamplesAccepted() != 1 || st.GetVersion() != "test" || st.GetStartedUs() != (epoch-60)*1e6 {
		t.Errorf("stats: %v", st)
	}
}

func TestNotes(t *testing.T) {
	store, url := serve(t)
	for _, key := range []string{"web2", "web1"} { // at the same time: then they go by key
		n := core.Note{Time: epoch * 1e6, Severity: "failure", Text: key, Labels: []core.Label{{Name: "host", Value: key}}}
		if err := store.AddNote(t.Context(), key, n); err != nil {
			t.Fatal(err)
		}
	}
	c := client(t, url, false)
	r, err := c.Notes(t.Context(), &rondov1.NotesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range r.GetNotes() {
		got = append(got, n.GetKey()+" "+n.GetSeverity()+" "+n.GetLabels()[0].GetValue())
	}
	if diff := cmp.Diff([]string{"web1 failure web1", "web2 failure web2"}, got); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestMetadata(t *testing.T) {
	store, url := serve(t)
	var ms []core.PathMetadata
	for i := range 5 {
		ms = append(ms, core.PathMetadata{Path: fmt.Sprintf("h/t%d", i), Metadata: core.Metadata{
			Time: epoch * 1e6, Text: fmt.Sprint("text ", i), Attributes: []core.Label{{Name: "units", Value: "s"}}, Expire: int64(i),
		}})
	}
	if _, err := store.SetMetadata(t.Context(), ms); err != nil {
		t.Fatal(err)
	}
	c := client(t, url, false)
	req := &rondov1.MetadataRequest{Prefix: "h/", Limit: 2}
	var got []string
	for {
		r, err := c.Metadata(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range r.GetMetadata() {
			got = append(got, fmt.Sprint(m.GetPath(), " ", m.GetText(), " ", m.GetAttributes()[0].GetValue(), " ", m.GetExpire(), " ", m.GetTimeUs()))
		}
		got = append(got, "|")
		if req.Page = r.GetNextPage(); req.Page == "" {
			break
		}
	}
	at := fmt.Sprint(" ", epoch*1_000_000)
	want := []string{"h/t0 text 0 s 0" + at, "h/t1 text 1 s 1" + at, "|", "h/t2 text 2 s 2" + at, "h/t3 text 3 s 3" + at, "|", "h/t4 text 4 s 4" + at, "|"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if _, err := c.Metadata(t.Context(), &rondov1.MetadataRequest{Limit: -1}); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("limit -1: %v", err)
	}
}

// TestCurl sends what a reader of the README would.
func TestCurl(t *testing.T) {
	_, url := serve(t)
	post := func(method, body string) (int, map[string]any) {
		t.Helper()
		r, err := http.Post(url+"/rondo.v1.Rondo/"+method, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.NewDecoder(bytes.NewReader(data)).Decode(&m); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		return r.StatusCode, m
	}
	if code, m := post("Create", `{"path":"t","start":"1699999980","definition":{"step":10,"ds":["DS:v:GAUGE:20:U:U"],"rra":["RRA:AVERAGE:0.5:1:10"]}}`); code != 200 || m["ref"] == nil {
		t.Fatalf("create: %d %v", code, m)
	}
	if code, m := post("Write", `{"samples":[{"path":"t","update":"1699999990:1.5"},{"path":"t","update":"N:U"}]}`); code != 200 || m["accepted"] != "2" {
		t.Fatalf("write: %d %v", code, m)
	}
	code, m := post("Fetch", `{"path":"t","start":"-20s","end":"now-1s"}`)
	want := map[string]any{
		"path": "t", "start": "1699999980", "end": "1700000000", "step": "10",
		"columns": []any{map[string]any{"ds": "v", "values": []any{1.5, "NaN"}}},
	}
	if diff := cmp.Diff(want, m); code != 200 || diff != "" {
		t.Errorf("fetch: %d (-want +got):\n%s", code, diff)
	}
	if code, m := post("Fetch", `{"path":"u"}`); code != 404 || m["code"] != "not_found" {
		t.Errorf("fetch of an unknown series: %d %v", code, m)
	}
	if code, m := post("Fetch", `{"pfad":"u"}`); code != 400 || m["code"] != "invalid_argument" {
		t.Errorf("unknown field: %d %v", code, m)
	}
}
