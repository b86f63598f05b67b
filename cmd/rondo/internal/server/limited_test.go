package server

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/rra"
)

// The series of the store that limitedServer serves. Others' series have "secret" in all names.
var (
	ownPaths    = []string{"team/a/cpu", "team/a/mem", "team/a.rrd"}
	secretPaths = []string{"secret/x", "team/secret", "team/a-secret/x", "team/asecret", "rrdd/secret/host/x", "collectd/secret/load"}
)

// limitedServer returns the handler of the HTTP port for a user who may do everything below team/a.
func limitedServer(t *testing.T) (*core.Store, http.Handler) {
	t.Helper()
	store := enginetest.Open(t)
	s := &server{Config: Config{DB: t.TempDir()}.withDefaults(), middleware: quietMiddleware(middleware.DefaultBounds(0)), store: store}
	s.receivers = newManager(s)
	s.rpc = s.newRPC()
	s.pages = s.newPages()
	s.queries = s.newQueries()
	all, scrapes := s.handlers()
	folders, err := access.Folders([]string{"team/a/"})
	if err != nil {
		t.Fatal(err)
	}
	s.middleware.Authorizer = middleware.Authorizer{
		Permission: all.Permission,
		Challenges: func() []string { return nil },
		Identify: func(*http.Request, string) (*access.User, error) {
			return &access.User{Name: "tenant", Role: access.Admin, Folders: folders}, nil
		},
	}
	s.middleware.Open(all, scrapes)
	for i, path := range append(append([]string{}, ownPaths...), secretPaths...) {
		d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:100"})
		if err != nil {
			t.Fatal(err)
		}
		owner := "own"
		if i >= len(ownPaths) {
			owner = "secret"
		}
		_, err = store.Create(t.Context(), core.Spec{Path: path, Labels: []core.Label{{Name: "owner_" + owner, Value: owner}, {Name: "all", Value: owner}}, Definition: d, Start: rra.Seconds(1_700_000_000)})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.AddNote(t.Context(), path, core.Note{Time: rra.Seconds(1_700_000_000), Text: owner}); err != nil {
			t.Fatal(err)
		}
		m := core.Metadata{Time: rra.Seconds(1_700_000_000), Text: owner, Attributes: []core.Label{{Name: "description", Value: owner + " series"}}}
		if _, err := store.SetMetadata(t.Context(), []core.PathMetadata{{Path: path, Metadata: m}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.rpc.Pages.Save(t.Context(), "board", "graph: secret\nDEF:v=secret/x:v:AVERAGE\nLINE:v\n"); err != nil {
		t.Fatal(err)
	}
	mixed := "# of secret\ntitle: both\ngraph: secret\nDEF:v=secret/x:v:AVERAGE\nLINE:v\n" +
		"graph: own\nDEF:v=/team/a/./cpu:v:AVERAGE\n# secret\nDEF:w=team/a:v:AVERAGE\nLINE:v\n" +
		"graph: secret\nDEF:v=team/a/cpu:v:AVERAGE\nDEF:w=team/a/../secret:v:AVERAGE\nLINE:v\n" +
		"graph: secret\nHRULE:5#f00:secret\n"
	if err := s.rpc.Pages.Save(t.Context(), "mixed", mixed); err != nil {
		t.Fatal(err)
	}
	return store, s.middleware
}

func asked(h http.Handler, method, target, body string) (int, string) {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "localhost"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// emptyFile is a file of rrdtool, as XML and in base64.
var emptyFile = base64.StdEncoding.EncodeToString([]byte("<rrd><version>0003</version><step>10</step><lastupdate>1700000000</lastupdate>" +
	"<ds><name>v</name><type>GAUGE</type><minimal_heartbeat>20</minimal_heartbeat><min>NaN</min><max>NaN</max>" +
	"<last_ds>U</last_ds><value>0</value><unknown_sec>0</unknown_sec></ds>" +
	"<rra><cf>AVERAGE</cf><pdp_per_row>1</pdp_per_row><params><xff>0.5</xff></params>" +
	"<cdp_prep><ds><primary_value>NaN</primary_value><secondary_value>NaN</secondary_value><value>NaN</value>" +
	"<unknown_datapoints>0</unknown_datapoints></ds></cdp_prep><database><row><v>1</v></row></database></rra></rrd>"))

// limitedCalls are requests of a limited user that do not name what the user may not see. own is
// part of an answer that shows what the user may see.
var limitedCalls = []struct{ method, body, own string }{
	{"Alter", `{"path":"team/a/mem","add_rra":["RRA:MAX:0.5:1:10"]}`, "RRA:MAX"},
	{"Alter", `{"path":"team/a/mem","dry_run":true}`, "definition"},
	{"Export", `{"path":"team/a/cpu"}`, "team/a/cpu"},
	{"Import", `{"path":"team/a/imported","data":"` + emptyFile + `"}`, "ref"},
	{"Query", `{"query":"{all!=\"\"}","time":"1700000000","lookback":600}`, "vector"},
	{"SetMetadata", `{"metadata":[{"path":"team/a/said","text":"own"}]}`, `"accepted"`},
	{"Tune", `{"path":"team/a/mem","args":["--heartbeat","v:90"]}`, "DS:v:GAUGE:90"},
	{"Xport", `{"lines":["DEF:v=team/a/cpu:v:AVERAGE","XPORT:v:own"]}`, "own"},
	{"Write", `{"samples":[{"path":"team/a/made","update":"N:1"}],"create":true}`, `"created"`},
	{"Charts", `{}`, "team/a/cpu"},
	{"Charts", `{"prefix":"team"}`, "team/a/cpu"},
	{"Charts", `{"prefix":"team/a"}`, "team/a/cpu"},
	{"Hosts", `{"sparks":true,"pin":"cpu"}`, "team/a/cpu"},
	{"Create", `{"path":"team/a/new","definition":{"step":10,"ds":["DS:v:GAUGE:20:U:U"],"rra":["RRA:AVERAGE:0.5:1:10"]}}`, "ref"},
	{"Dashboard", `{"name":"mixed"}`, "team/a/./cpu"},
	{"Dashboards", `{}`, `"both"`},
	{"Fetch", `{"path":"team/a/cpu"}`, "team/a/cpu"},
	{"FetchMany", `{"select":[{"path":"team/a/cpu"}]}`, "team/a/cpu"},
	{"Info", `{"path":"team/a/cpu"}`, "own series"},
	{"Info", `{"path":"/team/./a"}`, "own series"},
	{"Labels", `{}`, "owner_own"},
	{"Labels", `{"name":"all"}`, "own"},
	{"Latest", `{}`, "team/a/cpu"},
	{"Latest", `{"prefix":"team"}`, "team/a/cpu"},
	{"List", `{}`, "team/a/cpu"},
	{"List", `{"limit":1}`, "team/a"},
	{"List", `{"prefix":"team/a"}`, "team/a/mem"},
	{"List", `{"prefix":"te","page":"team/a/cpu"}`, "team/a/mem"},
	{"List", `{"matchers":[{"name":"all","op":"!=","value":""}]}`, "team/a/cpu"},
	{"Metadata", `{}`, "own series"},
	{"Notes", `{}`, "own"},
	{"Notes", `{"key":"team"}`, "own"},
	{"Rename", `{"path":"team/a/mem","to":"team/a/memory"}`, "{}"},
	{"Search", `{"text":"e"}`, "team/a/cpu"},
	{"Search", `{"text":"series"}`, "own series"},
	{"Search", `{"text":"team"}`, "team/a/cpu"},
	{"Tree", `{}`, "team/a"},
	{"Tree", `{"limit":9}`, "team/a"},
	{"Tree", `{"prefix":"team"}`, "team/a"},
	{"Tree", `{"prefix":"team/a"}`, "team/a/cpu"},
	{"Write", `{"samples":[{"path":"team/a/cpu","update":"N:1"}]}`, `"accepted"`},
	{"Drop", `{"path":"team/a/memory"}`, "{}"},
}

// TestLimitedUserSeesOnlyItsFolders: no procedure and no page names a series outside the folders of
// a limited user, nor its labels, notes and metadata.
func TestLimitedUserSeesOnlyItsFolders(t *testing.T) {
	_, h := limitedServer(t)
	called := make(map[string]bool)
	for _, c := range limitedCalls {
		called[c.method] = true
		code, body := asked(h, "POST", "/rondo.v1.Rondo/"+c.method, c.body)
		if code != http.StatusOK || !strings.Contains(body, c.own) {
			t.Errorf("%s %s answers %d without %q: %s", c.method, c.body, code, c.own, body)
		}
		if strings.Contains(body, "secret") {
			t.Errorf("%s %s shows what is not the user's: %s", c.method, c.body, body)
		}
	}
	methods := rondov1.File_rondo_proto.Services().ByName("Rondo").Methods()
	for i := range methods.Len() {
		name := string(methods.Get(i).Name())
		if m := methods.Get(i); m.IsStreamingClient() || m.IsStreamingServer() || name == "Exec" {
			continue // TestLimitedUserStreams and the tests of commands try them
		}
		if n := middleware.Permissions["/rondo.v1.Rondo/"+name]; !n.All && !called[name] {
			t.Errorf("no request of %s is tried for a limited user", name)
		} else if n.All {
			if code, body := asked(h, "POST", "/rondo.v1.Rondo/"+name, "{}"); code != http.StatusForbidden || !strings.Contains(body, "permission_denied") {
				t.Errorf("%s, which is about all series, answers a limited user %d %s", name, code, body)
			}
		}
	}
	for _, target := range []string{"/", "/?q=e", "/host/team", "/host/team/a", "/series/team/a/cpu", "/dashboards", "/dashboard/mixed", "/workbench", "/rrd_updates?start=0&host=true"} {
		if code, body := asked(h, "GET", target, ""); code != http.StatusOK || strings.Contains(body, "secret") {
			t.Errorf("%s answers %d: %s", target, code, body)
		}
	}
	for target, want := range map[string]int{
		"/status": 403, "/alerts": 403, "/metrics": 403, "/dashboard/board": 404, "/graph.svg?dashboard=board": 404, "/graph.svg?dashboard=board&graph=2": 404,
		"/graph.csv?dashboard=mixed": 200, "/graph.csv?dashboard=mixed&graph=2": 404,
		"/graph.csv?arg=DEF:v%3Dteam/a/cpu:v:AVERAGE&arg=LINE:v": 200,
	} {
		if code, body := asked(h, "GET", target, ""); code != want || strings.Contains(body, "secret") {
			t.Errorf("%s answers %d, want %d: %s", target, code, want, body)
		}
	}
}

// TestLimitedUserReachesNothingElse: what a limited user names outside its folders is refused, with
// the same words whether or not it exists, and stays as it is.
func TestLimitedUserReachesNothingElse(t *testing.T) {
	store, h := limitedServer(t)
	created := `"definition":{"step":10,"ds":["DS:v:GAUGE:20:U:U"],"rra":["RRA:AVERAGE:0.5:1:10"]}`
	for _, c := range []struct{ method, body string }{
		{"Alter", `{"path":"%s","add_rra":["RRA:MAX:0.5:1:10"]}`},
		{"Alter", `{"path":"%s","dry_run":true}`},
		{"Export", `{"path":"%s"}`},
		{"Import", `{"path":"%s","data":"` + emptyFile + `"}`},
		{"Import", `{"path":"%s","overwrite":true,"data":"` + emptyFile + `"}`},
		{"Tune", `{"path":"%s","args":["--heartbeat","v:90"]}`},
		{"Xport", `{"lines":["DEF:v=%s:v:AVERAGE","XPORT:v"]}`},
		{"SetMetadata", `{"metadata":[{"path":"%s","text":"mine"}]}`},
		{"Write", `{"samples":[{"path":"%s","update":"N:1"}],"create":true}`},
		{"Create", `{"path":"%s",` + created + `}`},
		{"Create", `{"path":"%s","overwrite":true,` + created + `}`},
		{"Drop", `{"path":"%s"}`},
		{"Fetch", `{"path":"%s"}`},
		{"FetchMany", `{"select":[{"path":"%s"}]}`},
		{"Info", `{"path":"%s"}`},
		{"Latest", `{"paths":["%s"]}`},
		{"Rename", `{"path":"%s","to":"team/a/taken"}`},
		{"Rename", `{"path":"team/a/cpu","to":"%s"}`},
		{"Write", `{"samples":[{"path":"%s","update":"N:1"}]}`},
	} {
		for _, there := range []string{"secret/x", "team/a/../secret", "/team/asecret", "team/a-secret/x.rrd"} {
			gone := there + "-gone"
			code, body := asked(h, "POST", "/rondo.v1.Rondo/"+c.method, fmt.Sprintf(c.body, there))
			other, text := asked(h, "POST", "/rondo.v1.Rondo/"+c.method, fmt.Sprintf(c.body, gone))
			if !strings.Contains(body, "permission") || code == http.StatusOK && !strings.Contains(c.method, "Many") && c.method != "Write" && c.method != "SetMetadata" {
				t.Errorf("%s of %s answers %d %s", c.method, there, code, body)
			}
			if code != other || body != strings.ReplaceAll(text, gone, there) {
				t.Errorf("%s tells whether %s exists: %d %s, and of another %d %s", c.method, there, code, body, other, text)
			}
		}
	}
	ref, err := store.Lookup("secret/x")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, body string }{
		{"Export", `{"ref":"%d"}`}, {"Info", `{"ref":"%d"}`}, {"Fetch", `{"ref":"%d"}`}, {"Write", `{"samples":[{"ref":"%d","update":"N:1"}]}`},
	} {
		_, body := asked(h, "POST", "/rondo.v1.Rondo/"+c.method, fmt.Sprintf(c.body, ref))
		_, text := asked(h, "POST", "/rondo.v1.Rondo/"+c.method, fmt.Sprintf(c.body, uint64(1)<<40))
		if want := strings.ReplaceAll(text, fmt.Sprint(uint64(1)<<40), fmt.Sprint(ref)); body != want || strings.Contains(body, "secret") {
			t.Errorf("%s by reference answers %s, and %s for one without a series", c.method, body, text)
		}
	}
	if code, body := asked(h, "GET", "/graph.svg?arg=DEF:v%3Dsecret/x:v:AVERAGE&arg=LINE:v", ""); code != http.StatusForbidden {
		t.Errorf("a graph of another's series: %d %s", code, body)
	}
	for _, path := range secretPaths {
		ref, err := store.Lookup(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if last, err := store.Last(ref); err != nil || last != rra.Seconds(1_700_000_000) {
			t.Errorf("%s was written: last update %v, %v", path, last, err)
		}
	}
}

// served serves a handler with HTTP/2, and returns a client that speaks gRPC to it.
func served(t *testing.T, h http.Handler) rondov1.RondoClient {
	t.Helper()
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = &p
	s.Start()
	t.Cleanup(s.Close)
	s.Client().Transport.(*http.Transport).Protocols = &p
	return rondov1.NewRondoClient(s.Client(), s.URL, connect.WithGRPC())
}

// lastOf returns the error of a stream: refusals come with the stream, or with the first message.
func lastOf[A any](s *connect.ServerStreamForClient[A], err error) error {
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	for s.Receive() {
		continue
	}
	return s.Err()
}

// appendSample stores the value 1.
func appendSample(t *testing.T, store *core.Store, ref core.Ref, at int64) {
	t.Helper()
	var b core.Batch
	b.Add(ref, rra.Seconds(at), rra.Float(1))
	if err := store.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
}

// TestLimitedUserStreams: the procedures that stream show a limited user its own series only.
func TestLimitedUserStreams(t *testing.T) {
	store, h := limitedServer(t)
	c := served(t, h)
	ctx := t.Context()
	for name, err := range map[string]error{
		"Backup": lastOf(c.Backup(ctx, &rondov1.BackupRequest{})),
		"Check":  lastOf(c.Check(ctx, &rondov1.CheckRequest{})),
		"Tail":   lastOf(c.Tail(ctx, &rondov1.TailRequest{Paths: []string{"secret/x"}})),
	} {
		if connect.CodeOf(err) != connect.CodePermissionDenied {
			t.Errorf("%s: %v", name, err)
		}
	}
	down, err := c.ExportMany(ctx, &rondov1.ExportRequest{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	var file []byte
	for down.Receive() {
		if seen++; strings.Contains(down.Msg().GetPath(), "secret") || down.Msg().GetError() != "" {
			t.Errorf("%s is exported: %s", down.Msg().GetPath(), down.Msg().GetError())
		}
		file = down.Msg().GetData()
	}
	if err := errors.Join(down.Err(), down.Close()); err != nil || seen != len(ownPaths) {
		t.Errorf("%d files, %v", seen, err)
	}
	up, err := c.ImportMany(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"secret/new", "team/a/new", "secret/x"} {
		if err := up.Send(&rondov1.ImportRequest{Path: path, Data: file, Complete: true, Overwrite: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := up.CloseRequest(); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := up.Receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil { // an import with overwrite asks nothing about the series before
			if connect.CodeOf(err) != connect.CodePermissionDenied {
				t.Error(err)
			}
			break
		}
		if outside := strings.HasPrefix(m.GetPath(), "secret"); outside != (m.GetError() != "") {
			t.Errorf("%v", m)
		}
	}
	if _, err := store.Lookup("secret/new"); err == nil {
		t.Error("secret/new was imported")
	}
	live, err := c.Tail(ctx, &rondov1.TailRequest{})
	if err != nil || !live.Receive() {
		t.Fatal(err, live.Err())
	}
	all, _ := access.Folders([]string{"team/a"})
	for _, path := range []string{"secret/x", "team/a/cpu"} {
		ref, err := store.Lookup(path)
		if err != nil {
			t.Fatal(err)
		}
		appendSample(t, store, ref, 1_700_000_010)
	}
	for n := 0; n == 0; n += len(live.Msg().GetRows()) {
		if !live.Receive() {
			t.Fatal(live.Err())
		}
		for _, r := range live.Msg().GetRows() {
			if !(&access.User{Folders: all}).Reaches(r.GetPath()) {
				t.Errorf("rows of %s", r.GetPath())
			}
		}
	}
	_ = live.Close()
}
