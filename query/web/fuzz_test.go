package web_test

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzGraphAddress: whatever stands behind the question mark, the answer is a picture or an error
// that says what is wrong, and a picture is well-formed and has no script.
func FuzzGraphAddress(f *testing.F) {
	s, _, _, _ := newGraphs(f)
	f.Add("svg", "--title\n<script>\nDEF:a=net/eth0:in:AVERAGE\nCDEF:b=a,2,*\nLINE:b#ff0000:</text>", "-1h", "400")   // markup
	f.Add("svg", "--pango-markup\nHRULE:5#ff0000:<b>x</b><i", "0", "10")                                              // markup that is meant
	f.Add("json", "DEF:a=net/eth0:in:MAX\nXPORT:a:\"\\", "1200000000", "100")                                         // a legend in JSON
	f.Add("csv", "DEF:a=net/eth0:in:AVERAGE:start=0:end=now:step=1\nVDEF:m=a,MAXIMUM\nLINE:m#f00\nSHIFT:a:m", "", "") // a shift by data
	f.Add("xml", "CDEF:a=1,1,/,DUP,SORT\nAREA:a", "now-1y", "4097")                                                   // a stack that runs empty
	f.Fuzz(func(t *testing.T, format, args, from, width string) {
		if _, ok := map[string]bool{"svg": true, "json": true, "xml": true, "csv": true}[format]; !ok {
			format = "svg"
		}
		v := url.Values{"arg": strings.Split(args, "\n")}
		if from != "" {
			v.Set("from", from)
		}
		if width != "" {
			v.Set("width", width)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", "/graph."+format+"?"+v.Encode(), nil))
		switch {
		case w.Code == http.StatusOK && (format == "svg" || format == "xml"):
			wellFormed(t, w.Body.String())
		case w.Code != http.StatusOK && (w.Code >= 500 && w.Code != http.StatusGatewayTimeout || w.Body.Len() < 2):
			t.Errorf("%d %q", w.Code, w.Body)
		}
	})
}

// wellFormed looks for what may not be in a picture.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if n := e.Name.Local; n == "script" || n == "img" || n == "foreignObject" || n == "a" {
			t.Errorf("element %s in\n%s", n, text)
		}
		for _, a := range e.Attr {
			if n := strings.ToLower(a.Name.Local); strings.HasPrefix(n, "on") || n == "href" {
				t.Errorf("attribute %s in\n%s", n, text)
			}
		}
	}
}

// FuzzPage: every address has an answer, and no part of it becomes markup.
func FuzzPage(f *testing.F) {
	s, _ := newPlain(f)
	f.Add("/series/net/eth0", "from=<script>")
	f.Add("/host/h", "row=all&page=<b>")
	f.Add("/dashboard/bad", "from=-1h&to=\x00")
	f.Add("/workbench", "g=--title\n\"><script>")
	f.Add("/", "q=<script>")
	f.Add("/rrd_updates", "start=-1&json=true&cf=AVERAGE")
	f.Fuzz(func(t *testing.T, path, query string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path, r.URL.RawQuery = "/"+strings.TrimPrefix(path, "/"), query
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if kind := w.Header().Get("Content-Type"); strings.HasPrefix(kind, "text/html") && strings.Count(w.Body.String(), "<script") != 2 {
			t.Errorf("markup in\n%s", w.Body)
		}
	})
}
