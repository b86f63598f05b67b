package rpc_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// TestChangesTakeNoUnknownField: "time" in place of time_us stored a sample at the present, and a
// Drop with a dry_run deleted.
func TestChangesTakeNoUnknownField(t *testing.T) {
	store, url := serve(t)
	create(t, client(t, url, false), "a")
	for _, tt := range []struct{ method, body, field string }{
		{"Write", `{"samples":[{"path":"a","time":1699999990000000,"values":[{"int":1},{"float":1}]}]}`, "time"},
		{"Drop", `{"path":"a","dry_run":true}`, "dry_run"},
		{"Rename", `{"path":"a","to":"b","dryRun":true}`, "dryRun"},
		{"Create", `{"path":"c","label":{"x":"y"},"definition":{"step":10,"ds":["DS:v:GAUGE:20:U:U"],"rra":["10s for 1d"]}}`, "label"},
		{"Checkpoint", `{"when":"later"}`, "when"},
	} {
		code, answer := postBytes(t, url+"/rondo.v1.Rondo/"+tt.method, "application/json", "", []byte(tt.body))
		if code != 400 || !strings.Contains(answer, "invalid_argument") || !strings.Contains(answer, `unknown field \"`+tt.field+`\"`) {
			t.Errorf("%s: %d %s", tt.method, code, answer)
		}
	}
	// The same in protobuf's own coding: a field that this server does not know, of a newer client
	// say.
	body, err := proto.Marshal(&rondov1.RenameRequest{Path: "a", To: "b"}) // Drop has no field 2
	if err != nil {
		t.Fatal(err)
	}
	code, answer := postBytes(t, url+"/rondo.v1.Rondo/Drop", "application/proto", "", body)
	if code != 400 || !strings.Contains(answer, "unknown field number 2") {
		t.Errorf("Drop in protobuf: %d %s", code, answer)
	}
	// And in messages of a request, which were not asked: each has the unknown field 99.
	with := func(m proto.Message) {
		m.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	}
	one, two := &rondov1.Value{Value: &rondov1.Value_Int{Int: 1}}, &rondov1.Value{Value: &rondov1.Value_Float{Float: 1}}
	odd := proto.CloneOf(two)
	with(odd)
	sample := func(vs ...*rondov1.Value) *rondov1.Sample {
		return &rondov1.Sample{Path: "a", TimeUs: 1699999990000000, Values: vs}
	}
	oddSample := sample(one, two)
	with(oddSample)
	definition := func() *rondov1.Definition {
		return &rondov1.Definition{Step: 10, Ds: []string{"DS:v:GAUGE:20:U:U"}, Rra: []string{"10s for 1d"}}
	}
	oddDefinition := definition()
	with(oddDefinition)
	oddLabel := &typesv1.Label{Name: "x", Value: "y"}
	with(oddLabel)
	for _, tt := range []struct {
		method, in string
		m          proto.Message
	}{
		{"Write", "Sample", &rondov1.WriteRequest{Samples: []*rondov1.Sample{sample(one, two), oddSample}}},
		{"Write", "Value", &rondov1.WriteRequest{Samples: []*rondov1.Sample{sample(one, odd)}}},
		{"Create", "Definition", &rondov1.CreateRequest{Path: "c", Definition: oddDefinition}},
		{"Create", "Label", &rondov1.CreateRequest{Path: "c", Definition: definition(), Labels: []*typesv1.Label{{Name: "n", Value: "v"}, oddLabel}}},
	} {
		body, err := proto.Marshal(tt.m)
		if err != nil {
			t.Fatal(err)
		}
		code, answer := postBytes(t, url+"/rondo.v1.Rondo/"+tt.method, "application/proto", "", body)
		if code != 400 || !strings.Contains(answer, "unknown field number 99 in "+tt.in+":") {
			t.Errorf("%s with an unknown field in %s: %d %s", tt.method, tt.in, code, answer)
		}
	}
	ref, err := store.Lookup("a")
	if err != nil {
		t.Fatal(err)
	}
	if at, err := store.Last(ref); err != nil || at.Unix() != 1699999000 {
		t.Errorf("the last update is %v, %v: something was stored", at, err)
	}
	for _, name := range []string{"b", "c"} {
		if _, err := store.Lookup(name); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSecondsAreNoMicroseconds: a time_us in seconds was "late", or was stored in 1970.
func TestSecondsAreNoMicroseconds(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	values := []*rondov1.Value{{Value: &rondov1.Value_Int{Int: 1}}, {Value: &rondov1.Value_Float{Float: 1}}}
	for _, at := range []int64{1699999990, 1699999990_000} {
		got := write(t, c, &rondov1.Sample{Path: "a", TimeUs: at, Values: values})
		if got.GetRefused() != 1 || !strings.Contains(got.GetRejections()[0].GetError(), "counts microseconds: that is 1970-01-") {
			t.Errorf("time_us %d: %v", at, got)
		}
	}
}

// TestTimesInRequests: RFC 3339 was "did you really mean month 2023?", and a number without quotes
// an error that says nothing of quotes. -5m is five months, as in rrdtool; the error says so.
func TestTimesInRequests(t *testing.T) {
	_, url := serve(t)
	create(t, client(t, url, false), "a")
	for _, tt := range []struct {
		method, body string
		code         int
		want         string
	}{
		{"Fetch", `{"path":"a","start":"2023-11-14T22:11:40Z","end":"2023-11-14T22:13:09Z"}`, 200, `"start":"1699999900"`},
		{"Fetch", `{"path":"a","start":"2023-31-14T22:11:40Z"}`, 400, "is no time"},
		{"Fetch", `{"path":"a","start":1700000000}`, 400, "put it in quotes"},
		{"Fetch", `{"path":"a","start":"-5m","end":"-10m"}`, 200, `"start":"1686`},
		{"Fetch", `{"path":"a","start":"-10m","end":"-5m"}`, 400, `\"-5m\" are months, write min for minutes`},
		{"Create", `{"path":"b","start":"2023-11-14T22:11:40Z","definition":{"step":10,"ds":["DS:v:GAUGE:20:U:U"],"rra":["10s for 1d"]}}`, 200, `"ref"`},
		{"Info", `{"path":"b"}`, 200, `"lastUpdateUs":"1699999900000000"`},
		{"Create", `{"path":"d","definition":{"ds":["DS:v:GAUGE:20:U:U"],"rra":["10s for 1d"]}}`, 400, "no step is given: it is 300 s"},
	} {
		code, answer := postBytes(t, url+"/rondo.v1.Rondo/"+tt.method, "application/json", "", []byte(tt.body))
		if answer = strings.ReplaceAll(answer, ": ", ":"); code != tt.code || !strings.Contains(answer, strings.ReplaceAll(tt.want, ": ", ":")) {
			t.Errorf("%s %s: %d %s, want %s", tt.method, tt.body, code, answer, tt.want)
		}
	}
}

// TestWrongAddressesAreExplained: a GET without a message got a list of content types, and a
// mistyped method nothing.
func TestWrongAddressesAreExplained(t *testing.T) {
	_, url := serve(t)
	for path, want := range map[string]string{
		"List":  "?encoding=json&message=",
		"Lists": "no such method: those of /rondo.v1.Rondo/ are Write, Create,",
	} {
		r, err := http.Get(url + "/rondo.v1.Rondo/" + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil || r.StatusCode < 400 || !strings.Contains(string(text), want) {
			t.Errorf("%s: %d %q, %v, want %s", path, r.StatusCode, text, err, want)
		}
	}
}

// TestHealthInJSON: the request was refused with the name of a type that stands in for the real
// one.
func TestHealthInJSON(t *testing.T) {
	ready := true
	s := httptest.NewServer(rpc.HealthHandler(func() bool { return ready }))
	t.Cleanup(s.Close)
	address, err := url.JoinPath(s.URL, rpc.HealthProcedure)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ready      bool
		body, want string
	}{
		{true, `{}`, `{"status":"SERVING"}`},
		{true, `{"service":"rondo.v1.Rondo"}`, `{"status":"SERVING"}`},
		{false, `{}`, `{"status":"NOT_SERVING"}`},
		{true, `{"service":"x"}`, connect.CodeNotFound.String()},
	} {
		ready = tt.ready
		if _, answer := postBytes(t, address, "application/json", "", []byte(tt.body)); !strings.Contains(answer, tt.want) {
			t.Errorf("%s: %s, want %s", tt.body, answer, tt.want)
		}
	}
}
