package web_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/web"
	"github.com/rondo-db/rondo/rra"
)

const begin = 1_200_000_000

// create makes a series of a step of 10 s with some archives.
func create(t testing.TB, s *core.Store, path string) core.Ref {
	t.Helper()
	d, err := rra.ParseDefinition(10, []string{"DS:in:GAUGE:60:U:U", "DS:out:GAUGE:60:U:U", "RRA:AVERAGE:0.5:1:1000", "RRA:MAX:0.5:6:1000"})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := s.Create(t.Context(), core.Spec{Path: path, Definition: d})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// fill appends a sample for each step up to a time, in seconds since 1970.
func fill(t testing.TB, s *core.Store, ref core.Ref, from, to int64) {
	t.Helper()
	var b core.Batch
	for at := from; at <= to; at += 10 {
		b.Add(ref, rra.Time(at*1e6), rra.Float(float64(at%70)), rra.Float(1))
	}
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
}

// A clock is what a test says.
type clock struct{ at int64 }

func (c *clock) now() time.Time { return time.Unix(c.at, 500) }

// newGraphs returns a server with the series net/eth0, and its clock.
func newGraphs(t testing.TB) (*web.Server, *core.Store, core.Ref, *clock) {
	t.Helper()
	s, store := newServer(t)
	c := &clock{begin + 3600}
	config := s.Config
	config.Now, config.Location = c.now, time.UTC
	ref := create(t, store, "net/eth0")
	fill(t, store, ref, begin, begin+3600)
	return web.New(config), store, ref, c
}

func address(format string, pairs ...string) string {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return "/graph." + format + "?" + v.Encode()
}

var usual = []string{"arg", "DEF:a=net/eth0:in:AVERAGE", "arg", "LINE:a#ff0000:in", "from", "-1h"}

func TestGraphFormats(t *testing.T) {
	s, _, _, _ := newGraphs(t)
	for format, want := range map[string]struct{ kind, begins string }{
		"svg": {"image/svg+xml", "<?xml"},
		"png": {"image/png", "\x89PNG"},
		"pdf": {"application/pdf", "%PDF"},
		"eps": {"application/postscript", "%!PS"},
		"csv": {"text/csv; charset=utf-8", "\"time\",\"in\"\n1200000000,\"NaN\"\n1200000010,\"2.0000000000e+01\"\n"},
		"tsv": {"text/tab-separated-values; charset=utf-8", "\"time\"\t\"in\"\n"},
		"ssv": {"text/plain; charset=utf-8", "\"time\";\"in\"\n"},
	} {
		r, body := ask(t, s, "GET", address(format, usual...))
		if r.StatusCode != 200 || r.Header.Get("Content-Type") != want.kind || !strings.HasPrefix(body, want.begins) {
			t.Errorf("%s: %s %s %.100q", format, r.Status, r.Header.Get("Content-Type"), body)
		}
		if policy := r.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
			t.Errorf("%s: policy %q", format, policy)
		}
	}
	if r, body := ask(t, s, "GET", address("bmp", usual...)); r.StatusCode != 404 || !strings.Contains(body, ".svg") {
		t.Errorf("an unknown format: %s %s", r.Status, body)
	}
}

func TestGraphAsNumbers(t *testing.T) {
	s, _, _, _ := newGraphs(t)
	legend := `a "b" <c> & d\`
	args := []string{"arg", "DEF:a=net/eth0:in:AVERAGE", "arg", "CDEF:n=a,10,GT,a,UNKN,IF", "arg", "LINE:n#ff0000:" + legend, "from", "1200000000", "to", "1200000100"}
	_, body := ask(t, s, "GET", address("json", args...))
	var answer struct {
		Meta struct {
			Start, End, Step int64
			Legend           []string
		}
		Data [][]*float64
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%v in\n%s", err, body)
	}
	if m := answer.Meta; m.Start != begin+10 || m.Step != 10 || len(m.Legend) != 1 || m.Legend[0] != legend {
		t.Errorf("meta %+v", m)
	}
	if len(answer.Data) < 10 || *answer.Data[0][0] != begin+10 || *answer.Data[0][1] != 20 || answer.Data[5][1] != nil {
		t.Errorf("data in\n%s", body)
	}
	_, body = ask(t, s, "GET", address("xml", args...))
	var x struct {
		Legend []string `xml:"meta>legend>entry"`
		Rows   []struct {
			T int64    `xml:"t"`
			V []string `xml:"v"`
		} `xml:"data>row"`
	}
	if err := xml.Unmarshal([]byte(body), &x); err != nil {
		t.Fatalf("%v in\n%s", err, body)
	}
	if len(x.Legend) != 1 || x.Legend[0] != legend || len(x.Rows) != len(answer.Data) || x.Rows[5].V[0] != "NaN" || x.Rows[5].T != begin+60 {
		t.Errorf("got %+v", x)
	}
}

// TestGraphIsDrawnOnce: every viewer of a page had its own drawing.
func TestGraphIsDrawnOnce(t *testing.T) {
	s, store, ref, c := newGraphs(t)
	at := address("svg", usual...)
	r, first := ask(t, s, "GET", at)
	tag := r.Header.Get("ETag")
	if tag == "" || !strings.HasPrefix(r.Header.Get("Cache-Control"), "max-age=") {
		t.Fatalf("headers %v", r.Header)
	}
	if r, body := ask(t, s, "GET", at, "If-None-Match", tag); r.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("what the client has is sent again: %s", r.Status)
	}
	if _, again := ask(t, s, "GET", at); again != first {
		t.Error("the second picture is another one")
	}
	if st := s.Stats(); st.Drawn != 1 || st.Kept != 1 || st.Unchanged != 1 {
		t.Errorf("counts %+v", st)
	}
	c.at += 3 // less than a pixel
	if r, _ := ask(t, s, "GET", at, "If-None-Match", tag); r.StatusCode != http.StatusNotModified {
		t.Errorf("within one pixel: %s", r.Status)
	}
	fill(t, store, ref, begin+3610, begin+3620)
	if r, _ := ask(t, s, "GET", at, "If-None-Match", tag); r.StatusCode != http.StatusNotModified {
		t.Errorf("after rows that the graph does not show yet: %s", r.Status)
	}
	c.at += 20
	if r, _ := ask(t, s, "GET", at, "If-None-Match", tag); r.StatusCode != 200 || r.Header.Get("ETag") == tag {
		t.Errorf("after new rows: %s", r.Status)
	}
	past := address("svg", "arg", "DEF:a=net/eth0:in:AVERAGE", "arg", "LINE:a#ff0000", "from", "1200000000", "to", "1200001000")
	r, _ = ask(t, s, "GET", past)
	fill(t, store, ref, begin+3630, begin+3700)
	c.at += 1000
	if r, _ := ask(t, s, "GET", past, "If-None-Match", r.Header.Get("ETag")); r.StatusCode != http.StatusNotModified {
		t.Errorf("a range in the past: %s", r.Status)
	}
	if r, body := ask(t, s, "HEAD", past); r.StatusCode != 200 || body != "" || r.ContentLength == 0 && r.Header.Get("Content-Length") == "" {
		t.Errorf("HEAD: %s %v", r.Status, r.Header)
	}
}

// TestGraphThatShowsThePresentIsDrawnAgain: GPRINT with strftime writes the present into a picture of
// the past, so it is another picture a pixel later.
func TestGraphThatShowsThePresentIsDrawnAgain(t *testing.T) {
	s, _, _, c := newGraphs(t)
	at := address("svg", "arg", "DEF:a=net/eth0:in:AVERAGE", "arg", "LINE:a#ff0000", "arg", "GPRINT:a:LAST:%H.%M.%S:strftime",
		"from", fmt.Sprint(begin), "to", fmt.Sprint(begin+3600))
	r, before := ask(t, s, "GET", at)
	c.at += 1000
	again, after := ask(t, s, "GET", at, "If-None-Match", r.Header.Get("ETag"))
	if again.StatusCode != http.StatusOK || before == after || before == "" {
		t.Errorf("%s, the same picture: %t", again.Status, before == after)
	}
}

func TestGraphRefuses(t *testing.T) {
	s, store, _, _ := newGraphs(t)
	wide, err := rra.ParseDefinition(1, []string{"DS:a:GAUGE:60:U:U", "RRA:AVERAGE:0.5:1:50000000"})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := store.Create(t.Context(), core.Spec{Path: "wide", Definition: wide, Start: rra.Time((begin + 3500) * 1e6)})
	if err != nil {
		t.Fatal(err)
	}
	var b core.Batch
	b.Add(ref, rra.Time((begin+3600)*1e6), rra.Float(1))
	if err := store.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	line := []string{"arg", "LINE:5#ff0000"}
	many := func(n int, arg string) (args []string) {
		for i := range n {
			args = append(args, "arg", strings.ReplaceAll(arg, "$", strconv.Itoa(i)))
		}
		return args
	}
	for _, tt := range []struct {
		name   string
		code   int
		text   string
		values []string
	}{
		{"no arguments", 400, "there is no graph", nil},
		{"nothing to draw", 400, "draws nothing", []string{"arg", "COMMENT:x"}},
		{"an unknown key", 400, `the key "widht"`, append([]string{"widht", "3"}, line...)},
		{"a width twice", 400, "width is given 2 times", append([]string{"width", "30", "width", "40"}, line...)},
		{"a control character", 400, "control character", []string{"arg", "LINE:5#ff0000:a\x01b"}},
		{"no UTF-8", 400, "UTF-8", []string{"arg", "LINE:5#ff0000:a\xff"}},
		{"a time zone that is a file", 400, "no time zone", append([]string{"tz", "../../etc/passwd"}, line...)},
		{"a wrong line", 400, "", []string{"arg", "LIME:5"}},
		{"a wrong option", 400, "", append([]string{"arg", "--nosuch"}, line...)},
		{"no such series", 404, `no such series: "nosuch" (a graph over HTTP shows series of the database, and no files)`, []string{"arg", "DEF:a=nosuch:in:AVERAGE", "arg", "LINE:a#ff0000"}},
		{"a file", 404, "no files", []string{"arg", "DEF:a=/etc/passwd:in:AVERAGE", "arg", "LINE:a#ff0000"}},
		{"above the top", 400, "names no series", []string{"arg", "DEF:a=../x:in:AVERAGE", "arg", "LINE:a#ff0000"}},
		{"--daemon", 400, "does not ask others", append([]string{"arg", "--daemon", "arg", "127.0.0.1:1"}, line...)},
		{"daemon=", 400, "does not ask others", []string{"arg", "DEF:a=net/eth0:in:AVERAGE:daemon=unix\\:/tmp/x", "arg", "LINE:a#ff0000"}},
		{"--lazy", 400, "If-None-Match", append([]string{"arg", "--lazy"}, line...)},
		{"--imginfo", 400, "command line", append([]string{"arg", "--imginfo", "arg", "%s%lu%lu"}, line...)},
		{"no such data source", 400, "No DS called 'x'", []string{"arg", "DEF:a=net/eth0:x:AVERAGE", "arg", "LINE:a#ff0000"}},
		{"too wide", 400, "5000 times 100 pixels: at most 4096", append([]string{"width", "5000"}, line...)},
		{"zoomed too high", 400, "at most 4096", append([]string{"arg", "--zoom", "arg", "50"}, line...)},
		{"too many pixels", 400, "pixels, more than 4194304", append([]string{"width", "4000", "height", "4000"}, line...)},
		{"too many arguments", 400, "513 arguments: at most 512", many(513, "LINE:5#ff0000")},
		{"too many lines", 400, "257 lines: at most 256", many(257, "LINE:5#ff0000")},
		{"too long a time", 400, "at most 73200", append([]string{"arg", "--start", "arg", "19810101", "to", "9000000000"}, line...)},
		{"too many values", 400, "values or more, at most 4194304", []string{"arg", "DEF:a=wide:a:AVERAGE:start=end-5000000", "arg", "LINE:a#ff0000", "from", "-1h", "width", "4000"}},
		{"too many rows that are unknown", 400, "spans", []string{"arg", "DEF:a=wide:a:AVERAGE:start=end-100000000", "arg", "LINE:a#ff0000", "from", "-1h", "width", "4000"}},
		{"too much work", 400, "takes too long", []string{
			"arg", "DEF:a=wide:a:AVERAGE:start=end-4000000", "arg", "CDEF:b=a,a,+,a,+,a,+,a,+", "arg", "LINE:b#ff0000", "from", "-1h", "width", "4000",
		}},
		{"too much for one file", 400, "more than 16777216 bytes", append([]string{
			"width", "4000", "arg", "DEF:a=net/eth0:in:AVERAGE", "arg", "CDEF:b=a,POP,TIME,17,%",
		}, many(250, "TICK:b#ff000010:1")...)},
		{"the same rows too often", 400, "values of its DEFs, at most 4194304", append([]string{
			"arg", "LINE:5#ff0000", "from", "-1h", "width", "4000",
		}, many(100, "DEF:a$=net/eth0:in:AVERAGE:start=1195000000:end=1200000000")...)},
		{"too many unknown rows", 400, "values of its DEFs, at most 4194304", append([]string{
			"arg", "-Z", "arg", "LINE:5#ff0000", "from", "-1h", "width", "4000",
		}, many(100, "DEF:a$=no/series:in:AVERAGE:start=1195000000:end=1200000000")...)},
		{"too many numbers", 400, "values, at most 2097152", append([]string{
			"arg", "DEF:a=wide:a:AVERAGE", "from", "-500000", "arg", "--width", "arg", "4000", "arg", "DEF:b=wide:a:AVERAGE:step=126", "arg", "LINE:b#ff0000",
		}, many(200, "LINE:a#ff0000")...)},
	} {
		r, body := ask(t, s, "GET", address("png", tt.values...))
		switch tt.name {
		case "too many numbers":
			r, body = ask(t, s, "GET", address("csv", tt.values...))
		case "too much for one file":
			r, body = ask(t, s, "GET", address("svg", tt.values...))
		}
		if r.StatusCode != tt.code || !strings.Contains(body, tt.text) {
			t.Errorf("%s: %s %.200q, want %d and %q", tt.name, r.Status, body, tt.code, tt.text)
		}
		if r.Header.Get("ETag") != "" || r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: the error is kept: %v", tt.name, r.Header)
		}
	}
}

// TestGraphEscapes: a name in a graph is text, whatever it is.
func TestGraphEscapes(t *testing.T) {
	s, store, _, _ := newGraphs(t)
	hostile := `</text><script>alert(1)</script>"'&<img src=x onerror=alert(1)>`
	path := "x/" + strings.ReplaceAll(hostile, "/", "_")
	fill(t, store, create(t, store, path), begin, begin+3600)
	q := strings.NewReplacer(`\`, `\\`, ":", `\:`)
	args := []string{
		"arg", "--title", "arg", hostile, "arg", "--vertical-label", "arg", hostile, "arg", "--watermark", "arg", hostile, "arg", "--right-axis-label", "arg", hostile,
		"arg", "--font", "arg", "DEFAULT:8:" + hostile,
		"arg", "DEF:a=" + q.Replace(path) + ":in:AVERAGE", "arg", "AREA:a#ff0000:" + q.Replace(hostile), "arg", "COMMENT:" + q.Replace(hostile),
		"arg", "GPRINT:a:MAX:%lf" + q.Replace(hostile), "from", "-1h",
	}
	for _, extra := range [][]string{nil, {"arg", "--pango-markup"}} {
		r, body := ask(t, s, "GET", address("svg", append(extra, args...)...))
		if r.StatusCode != 200 {
			t.Fatalf("%s %s", r.Status, body)
		}
		d := xml.NewDecoder(strings.NewReader(body))
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, body)
			}
			if e, ok := token.(xml.StartElement); ok {
				for _, a := range e.Attr {
					if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") || a.Name.Local == "href" {
						t.Errorf("attribute %s of %s", a.Name.Local, e.Name.Local)
					}
				}
				if n := e.Name.Local; n == "script" || n == "img" || n == "foreignObject" {
					t.Errorf("element %s", n)
				}
			}
		}
	}
	// An error quotes what was sent, as plain text.
	r, body := ask(t, s, "GET", address("svg", "arg", hostile))
	if r.StatusCode != 400 || r.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%s %v %s", r.Status, r.Header, body)
	}
}

func TestGraphTimeZone(t *testing.T) {
	s, _, _, _ := newGraphs(t)
	_, utc := ask(t, s, "GET", address("svg", append([]string{"tz", "UTC"}, usual...)...))
	r, berlin := ask(t, s, "GET", address("svg", append([]string{"tz", "Europe/Berlin"}, usual...)...))
	if r.StatusCode != 200 || utc == berlin {
		t.Errorf("%s; both zones draw the same", r.Status)
	}
	if !bytes.Contains([]byte(utc), []byte("21:40")) || !bytes.Contains([]byte(berlin), []byte("22:40")) {
		t.Errorf("times are missing in\n%s", fmt.Sprint(len(utc), len(berlin)))
	}
}

// TestGraphsForDarkPages: without script a dark page had light pictures.
func TestGraphsForDarkPages(t *testing.T) {
	s, _, _, _ := newGraphs(t)
	light, _ := ask(t, s, "GET", address("svg", usual...))
	r, body := ask(t, s, "GET", address("svg", append(usual, "theme", "dark")...))
	if r.StatusCode != http.StatusOK || !strings.Contains(body, "#14181e") || r.Header.Get("ETag") == light.Header.Get("ETag") {
		t.Errorf("theme=dark: %s\n%.600s", r.Status, body)
	}
	if _, body := ask(t, s, "GET", address("svg", append(usual, "theme", "dark", "arg", "--color", "arg", "BACK#123456", "arg", "--color", "arg", "CANVAS#123456")...)); strings.Contains(body, "#14181e") {
		t.Errorf("a graph's own colours do not win:\n%.600s", body)
	}
	if r, body := ask(t, s, "GET", address("svg", append(usual, "theme", "x")...)); r.StatusCode != http.StatusBadRequest {
		t.Errorf("theme=x: %s %s", r.Status, body)
	}
	_, page := ask(t, s, "GET", "/series/net/eth0")
	m := regexp.MustCompile(`<source media="\(prefers-color-scheme: dark\)" srcset="([^"]*)">`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no picture for a dark page in\n%s", page)
	}
	if r, body := ask(t, s, "GET", entity.Replace(m[1])); r.StatusCode != http.StatusOK || !strings.Contains(body, "#14181e") {
		t.Errorf("%s: %s", m[1], r.Status)
	}
	if _, home := ask(t, s, "GET", "/?q=net"); strings.Count(home, `name="q"`) != 1 {
		t.Errorf("home has %d fields for a search", strings.Count(home, `name="q"`))
	}
}
