package rpc_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// TestNamesThatCannotBe: a name that no series can have was answered with internal (500), as a
// fault of the server.
func TestNamesThatCannotBe(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	d := &rondov1.Definition{Ds: []string{"DS:v:GAUGE:20:U:U"}, Rra: []string{"RRA:LAST:0.5:1:10"}}
	label := func(name, value string) []*typesv1.Label { return []*typesv1.Label{{Name: name, Value: value}} }
	long := strings.Repeat("x", 5000)
	for _, path := range []string{"..", ".", "/", "../a", "a\x00b", ".rrd", long} {
		for method, f := range map[string]func(context.Context) error{
			"create": func(ctx context.Context) error {
				return call(c.Create, ctx, &rondov1.CreateRequest{Path: path, Definition: d})
			},
			"drop": func(ctx context.Context) error { return call(c.Drop, ctx, &rondov1.DropRequest{Path: path}) },
			"rename": func(ctx context.Context) error {
				return call(c.Rename, ctx, &rondov1.RenameRequest{Path: path, To: "b"})
			},
			"rename to": func(ctx context.Context) error {
				return call(c.Rename, ctx, &rondov1.RenameRequest{Path: "a", To: path})
			},
			"fetch":       func(ctx context.Context) error { return call(c.Fetch, ctx, &rondov1.FetchRequest{Path: path}) },
			"information": func(ctx context.Context) error { return call(c.Info, ctx, &rondov1.InfoRequest{Path: path}) },
		} {
			err := f(t.Context())
			if connect.CodeOf(err) != connect.CodeInvalidArgument {
				t.Errorf("%s %.20q: got %v, want invalid_argument", method, path, err)
			} else if n := strings.Count(err.Error(), fmt.Sprintf("%q", path)); n > 1 || len(err.Error()) > 1200 {
				t.Errorf("%s %.20q: the error names it %d times in %d bytes: %.400s", method, path, n, len(err.Error()), err)
			}
		}
	}
	for name, ls := range map[string][]*typesv1.Label{
		"long": label("n", long), "empty": label("", "x"), "NUL": label("n", "\x00"), "twice": append(label("n", "1"), label("n", "2")...),
	} {
		err := call(c.Create, t.Context(), &rondov1.CreateRequest{Path: "n", Definition: d, Labels: ls})
		if connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("labels %s: got %v, want invalid_argument", name, err)
		}
	}
	err := call(c.Create, t.Context(), &rondov1.CreateRequest{Path: "a", Definition: d})
	if got, want := err.Error(), `already_exists: create "a": series exists`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTextThatIsNoUTF8 is refused as a mistake of the caller, in both codings.
func TestTextThatIsNoUTF8(t *testing.T) {
	_, url := serve(t)
	for contentType, body := range map[string]string{
		"application/json":  "{\"path\":\"a\xff\"}",
		"application/proto": string(protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "a\xff")),
	} {
		for _, method := range []string{"Create", "Drop", "Rename", "Fetch", "Info", "List", "Labels", "Notes", "Metadata"} {
			code, answer := postBytes(t, url+"/rondo.v1.Rondo/"+method, contentType, "", []byte(body))
			if code != 400 || !strings.Contains(answer, "invalid_argument") || !strings.Contains(answer, "UTF-8") {
				t.Errorf("%s as %s: %d %s", method, contentType, code, answer)
			}
		}
	}
}

// TestClosedStoreIsUnavailable: every method of a server whose store has been closed says that it
// may be tried again.
func TestClosedStoreIsUnavailable(t *testing.T) {
	store, err := core.Open(t.TempDir(), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle((&rpc.Server{Store: store, Now: func() time.Time { return time.Unix(epoch, 0) }}).Handler(nil))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c := client(t, s.URL, false)
	create(t, c, "a")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	d := &rondov1.Definition{Ds: []string{"DS:v:GAUGE:20:U:U"}, Rra: []string{"RRA:LAST:0.5:1:10"}}
	for method, err := range map[string]error{
		"Write":         call(c.Write, ctx, &rondov1.WriteRequest{Samples: []*rondov1.Sample{{Path: "a", Update: "N:1:1"}}}),
		"Create":        call(c.Create, ctx, &rondov1.CreateRequest{Path: "b", Definition: d}),
		"Drop":          call(c.Drop, ctx, &rondov1.DropRequest{Path: "a"}),
		"Rename":        call(c.Rename, ctx, &rondov1.RenameRequest{Path: "a", To: "b"}),
		"Fetch":         call(c.Fetch, ctx, &rondov1.FetchRequest{Path: "a"}),
		"List":          call(c.List, ctx, &rondov1.ListRequest{}),
		"List by label": call(c.List, ctx, &rondov1.ListRequest{Matchers: []*typesv1.Matcher{{Name: "x"}}}),
		"Labels":        call(c.Labels, ctx, &rondov1.LabelsRequest{}),
		"Info":          call(c.Info, ctx, &rondov1.InfoRequest{Path: "a"}),
		"Notes":         call(c.Notes, ctx, &rondov1.NotesRequest{}),
		"Metadata":      call(c.Metadata, ctx, &rondov1.MetadataRequest{}),
		"Checkpoint":    call(c.Checkpoint, ctx, &rondov1.CheckpointRequest{}),
	} {
		if connect.CodeOf(err) != connect.CodeUnavailable {
			t.Errorf("%s: got %v, want unavailable", method, err)
		}
	}
}

// TestSeriesLimitIsResourceExhausted: it is the server that has no room, not the request that is
// wrong.
func TestSeriesLimitIsResourceExhausted(t *testing.T) {
	store, err := core.Open(t.TempDir(), core.Options{MaxSeries: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }() // nothing of it is looked at
	mux := http.NewServeMux()
	mux.Handle((&rpc.Server{Store: store, Now: func() time.Time { return time.Unix(epoch, 0) }}).Handler(nil))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c := client(t, s.URL, false)
	create(t, c, "a")
	d := &rondov1.Definition{Ds: []string{"DS:v:GAUGE:20:U:U"}, Rra: []string{"RRA:LAST:0.5:1:10"}}
	if err := call(c.Create, t.Context(), &rondov1.CreateRequest{Path: "b", Definition: d}); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("got %v, want resource_exhausted", err)
	}
}

// postBytes posts body and returns the answer.
func postBytes(t *testing.T, url, contentType, encoding string, body []byte) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

// TestExpressionsThatCostTooMuch: one List with a long expression took 22 s and 613 MB, and its
// error had 1.8 MB.
func TestExpressionsThatCostTooMuch(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, value := range map[string]string{
		"long":      strings.Repeat("a|", 3000),
		"brackets":  strings.Repeat("[", 4000),
		"repeats":   "((((a{100}){10}){10}){10}){5}",
		"repeats 2": strings.Repeat("(x{1000})", 300),
		"classes":   strings.Repeat(`\pL`, 1300),
	} {
		err := call(c.List, t.Context(), &rondov1.ListRequest{Matchers: []*typesv1.Matcher{{Name: "n", Op: "=~", Value: value}}})
		if connect.CodeOf(err) != connect.CodeInvalidArgument || len(err.Error()) > 1200 {
			t.Errorf("%s: got %.400v, want a short invalid_argument", name, err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 64 {
		t.Errorf("%d MB were allocated to refuse them", n)
	}
	// What people write is taken.
	for _, value := range []string{"web.*", "(?i)web[0-9]{1,3}|db.+", `\d+\.\d+\.\d+\.\d+`, strings.Repeat("host1234|", 400)} {
		if err := call(c.List, t.Context(), &rondov1.ListRequest{Matchers: []*typesv1.Matcher{{Name: "n", Op: "=~", Value: value}}}); err != nil {
			t.Errorf("%.40s: %v", value, err)
		}
	}
	err := call(c.List, t.Context(), &rondov1.ListRequest{Matchers: make([]*typesv1.Matcher, 1000)})
	if connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("a thousand matchers: %v", err)
	}
}

// TestGzipIsNotUnpackedToItsEnd: a body of 1 MB that unpacks to 1 GiB was unpacked as a whole
// before it was refused.
func TestGzipIsNotUnpackedToItsEnd(t *testing.T) {
	_, url := serve(t)
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range 64 {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"Write", "Create", "List"} {
		// The library would say how long the message is, had it unpacked it to its end.
		code, answer := postBytes(t, url+"/rondo.v1.Rondo/"+method, "application/json", "gzip", packed.Bytes())
		if code != 429 || !strings.Contains(answer, "resource_exhausted") || strings.Contains(answer, "67108864") {
			t.Errorf("%s: %d %s", method, code, answer)
		}
	}
	packed.Reset()
	z.Reset(&packed)
	if _, err := z.Write([]byte(`{"prefix":"a"}`)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if code, answer := postBytes(t, url+"/rondo.v1.Rondo/List", "application/json", "gzip", packed.Bytes()); code != 200 {
		t.Errorf("a packed request: %d %s", code, answer)
	}
}

// TestEmptyMessagesAreCounted: 2 million empty samples fit 4 MiB and take a hundred times that in
// memory.
func TestEmptyMessagesAreCounted(t *testing.T) {
	_, url := serve(t)
	empty := bytes.Repeat([]byte{1<<3 | 2, 0}, 1<<21-1)
	var values []byte
	values = protowire.AppendTag(values, 1, protowire.BytesType)
	values = protowire.AppendBytes(values, bytes.Repeat([]byte{4<<3 | 2, 0}, 1<<20))
	for name, b := range map[string]struct {
		contentType string
		body        []byte
	}{
		"samples":      {"application/proto", empty},
		"values":       {"application/proto", values},
		"JSON samples": {"application/json", []byte(`{"samples":[` + strings.Repeat("{},", 1<<20) + `{}]}`)},
	} {
		code, answer := postBytes(t, url+"/rondo.v1.Rondo/Write", b.contentType, "", b.body)
		if code != 400 || !strings.Contains(answer, "samples and values") {
			t.Errorf("%s: %d %.400s", name, code, answer)
		}
	}
}

// TestContentTypesAreNamed: 415 had no body, and who met it did not know what was wanted.
func TestContentTypesAreNamed(t *testing.T) {
	_, url := serve(t)
	code, answer := postBytes(t, url+"/rondo.v1.Rondo/List", "application/x-www-form-urlencoded", "", []byte("{}"))
	if code != 415 || !strings.Contains(answer, "Content-Type") || !strings.Contains(answer, "application/json") {
		t.Errorf("got %d %q", code, answer)
	}
	r, err := http.Get(url + "/rondo.v1.Rondo/Drop")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	if text, err := io.ReadAll(r.Body); err != nil || r.StatusCode != 405 || !strings.Contains(string(text), "POST") {
		t.Errorf("got %d %q, %v", r.StatusCode, text, err)
	}
}

// TestFirstRejectionHasItsIndex: 0 is left out of JSON, and so nobody knew which sample it was.
func TestFirstRejectionHasItsIndex(t *testing.T) {
	_, url := serve(t)
	code, answer := postBytes(t, url+"/rondo.v1.Rondo/Write", "application/json", "", []byte(`{"samples":[{"path":"nosuch","update":"N:1"}]}`))
	if answer = strings.ReplaceAll(answer, " ", ""); code != 200 || !strings.Contains(answer, `"index":"0"`) {
		t.Errorf("got %d %s", code, answer)
	}
}

// TestOneBadReadingDoesNotKeepTheOthersOut: a text of 5,000 digits between two good samples failed
// the whole Write.
func TestOneBadReadingDoesNotKeepTheOthersOut(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	got := write(
		t, c,
		&rondov1.Sample{Path: "a", Update: "1699999100:1:1"},
		&rondov1.Sample{Path: "a", Update: "1699999110:" + strings.Repeat("7", 5000) + ":1"},
		&rondov1.Sample{Path: "a", Update: "1699999120:1:1"},
	)
	if got.GetAccepted() != 2 || got.GetRefused() != 1 || len(got.GetRejections()) != 1 || got.GetRejections()[0].GetIndex() != 1 {
		t.Errorf("got %.600v", got)
	}
}

// TestLongMessagesTellTheLimit: the page said 413; it is 429, with both numbers.
func TestLongMessagesTellTheLimit(t *testing.T) {
	_, url := serve(t)
	code, answer := postBytes(t, url+"/rondo.v1.Rondo/List", "application/json", "", []byte(`{"prefix":"`+strings.Repeat("x", 64<<10)+`"}`))
	if code != 429 || !strings.Contains(answer, "resource_exhausted") || !strings.Contains(answer, "65549") || !strings.Contains(answer, "65536") {
		t.Errorf("got %d %.300s", code, answer)
	}
}
