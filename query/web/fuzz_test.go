package web_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/web"
)

// get sends a request whose address need not be a right one. It has a second.
func get(t *testing.T, h http.Handler, path, query string) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	r := httptest.NewRequest("GET", "/", nil).WithContext(ctx)
	r.URL = &url.URL{Path: path, RawQuery: query}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code == http.StatusInternalServerError && ctx.Err() == nil {
		t.Errorf("%q?%q: %d %.300s", path, query, w.Code, w.Body)
	}
	return w
}

// wellFormed returns what is wrong with XML, and what it has that runs or loads something.
func wellFormed(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		x, err := d.Token()
		switch e := x.(type) {
		case xml.StartElement:
			if e.Name.Local == "script" || e.Name.Local == "foreignObject" || e.Name.Local == "a" {
				return errors.New("the element " + e.Name.Local)
			}
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || strings.Contains(strings.ToLower(a.Value), "script:") {
					return errors.New("the attribute " + a.Name.Local)
				}
			}
		case nil:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// FuzzGraph asks for graphs by any address: what comes back is a graph that runs nothing, or a
// short text that says what is wrong.
func FuzzGraph(f *testing.F) {
	formats := []string{"svg", "png", "pdf", "eps", "json", "xml", "csv"}
	for i, query := range []string{
		"arg=DEF:a=net/eth0:in:AVERAGE&arg=LINE:a%23ff0000:in&from=-1h",
		"arg=-P&arg=--title&arg=%3Cscript%3Ealert(1)%3C/script%3E&arg=COMMENT:%3Cb%3Ex%3C/b%3E%5Cl&arg=HRULE:5%23f00::dashes=1,2",
		"arg=--x-grid&arg=SECOND:1:MINUTE:1:HOUR:1:0:%25H%25512d&arg=--y-grid&arg=0.1:2&arg=AREA:5%23ff000080%2300ff0080:x:STACK:gradheight=5",
		"arg=-o&arg=-l&arg=1e-300&arg=-u&arg=1e300&arg=--right-axis&arg=1e9:-5&arg=TICK:1%23000:-0.5:x%5Cu",
		"dashboard=../../x&graph=9", "width=4096&height=4096&arg=LINE:1", "tz=../x&arg=LINE:1",
		"arg=DEF:a=net/eth0:in:MAX:step=7:start=end-5d:reduce=LAST&arg=CDEF:b=a,PREV,TIME,%25&arg=VDEF:v=b,95,PERCENT&arg=XPORT:b:%22x%22&arg=GPRINT:v:%25500.300lf%25s&arg=SHIFT:b:-1e9",
		"arg=-Z&arg=DEF:a=nosuch:x:AVERAGE:start=19810101&arg=AREA:a%23000&arg=--legend-position&arg=west&arg=-m&arg=0.01&arg=-n&arg=DEFAULT:1e9:x%22%3E",
	} {
		f.Add(uint8(i), query)
	}
	s, _ := newPlain(f)
	f.Fuzz(func(t *testing.T, format uint8, query string) {
		kind := formats[int(format)%len(formats)]
		w := get(t, s, web.GraphPath+kind, query)
		body := w.Body.String()
		if w.Code != http.StatusOK {
			if len(body) > 1100 || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" || w.Header().Get("ETag") != "" {
				t.Errorf("%q: an error of %d bytes, %v", query, len(body), w.Header())
			}
			return
		}
		switch {
		case len(body) > 64<<20:
			t.Errorf("%q: %d bytes", query, len(body))
		case kind == "svg" || kind == "xml":
			if err := wellFormed(body); err != nil {
				t.Errorf("%s %q: %v", kind, query, err)
			}
		case kind == "json" && !json.Valid(w.Body.Bytes()):
			t.Errorf("%q: no JSON: %.300s", query, body)
		}
	})
}

// FuzzPage asks for pages by any address: no text of it becomes markup.
func FuzzPage(f *testing.F) {
	for _, x := range [][2]string{
		{"/", "q=%3Cscript%3E&page=0+x"},
		{"/host/h", "row=all&from=%22%3E%3Cscript%3E"},
		{"/series/net/eth0", "from=-1h&to=%27"},
		{"/workbench", "g=HRULE:5%23f00:%3C/textarea%3E%3Cscript%3E%0Agraph:%0A&from=javascript:alert(1)"},
		{"/dashboard/bad", "row=all"},
		{"/dashboard/..", ""},
		{"/</noscript><script>alert(1)</script>", ""},
		{"//host/x", "\xff"},
		{"/assets/../x", ""},
		{"/rrd_updates", "start=-3600&host=true&json=true&cf=AVERAGE&interval=5&vm_uuid=%3Cx%3E"},
		{"/rrd_updates", "start=0&sr_uuid=all"},
	} {
		f.Add(x[0], x[1])
	}
	s, _ := newPlain(f)
	f.Fuzz(func(t *testing.T, path, query string) {
		w := get(t, s, path, query)
		body := w.Body.String()
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			return
		}
		if all, files := runs(strings.ToLower(body)); all < 1 || files != all || strings.Count(body, "</noscript>") != 1 || strings.Contains(body, "<img src=x") {
			t.Errorf("%q?%q: markup in\n%s", path, query, body)
		}
		for _, link := range links.FindAllStringSubmatch(body, -1) {
			if to := entity.Replace(link[1]); !strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "#") || strings.HasPrefix(to, "//") {
				t.Errorf("%q?%q: a link to %q", path, query, to)
			}
		}
	})
}
