package influx_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/influx"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// post returns a request with a body.
func post(t testing.TB, url string, body []byte) *http.Request {
	t.Helper()
	q, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func httpCase() receivertest.Case {
	return receivertest.Case{
		Protocol: influx.HTTP, Message: line, Garbage: garbage,
		Request: func(t testing.TB, url string, message []byte) *http.Request { return post(t, url+"/write", message) },
	}
}

// TestHTTPSuite: over HTTP it does what every receiver must do.
func TestHTTPSuite(t *testing.T) { receivertest.Run(t, httpCase()) }

// TestHTTPPackedSuite: packed bodies of the second API are handled as well.
func TestHTTPPackedSuite(t *testing.T) {
	c := httpCase()
	c.Request = func(t testing.TB, url string, message []byte) *http.Request {
		q := post(t, url+"/api/v2/write?org=x&bucket=y&precision=ns", receivertest.Gzip(t, message))
		q.Header.Set("Content-Encoding", "gzip")
		return q
	}
	receivertest.Run(t, c)
}

// TestWriteAnswers: good lines of a request are stored, and the answer says what was wrong with the
// others, in the words and the form of the API.
func TestWriteAnswers(t *testing.T) {
	rec := new(receivertest.Recorder)
	r := receivertest.Start(t, httpCase(), rec, nil)
	at := func(n int) string { return fmt.Sprint(receivertest.Epoch + n) }
	for _, tt := range []struct {
		url, body string
		status    int
		text      string
		samples   int
	}{
		{"/write?db=d", "a b=1", 204, "", 1},
		{"/write?db=d", "", 204, "", 0},
		{"/write?db=d", "# nothing\n\n", 204, "", 0},
		{"/write?db=d", "a b=\"text\"", 204, "", 0},
		{"/write?db=d&precision=s", "c b=1 " + at(1) + "\nc b=2 " + at(2), 204, "", 2},
		{"/write?db=d", "bad", 400, `{"error":"unable to parse 'bad': missing fields"}`, 0},
		{"/write?db=d", "a,x y=1", 400, `{"error":"unable to parse 'a,x': missing tag value"}`, 0},
		{
			"/write?db=d&precision=s", "c b=3 " + at(3) + "\nbad\nbad\nc b=4 " + at(4) + "\nd e=", 400,
			`{"error":"partial write: unable to parse 'bad': missing fields\nunable to parse 'd e=': missing field value dropped=0"}`, 2,
		},
		{"/write?db=d&precision=s", "c b=5,d=5 99999999999", 400, `{"error":"partial write: time is before 1970 or too far ahead dropped=2"}`, 0},
		{"/write?precision=fortnight", "a b=1", 400, `{"error":"invalid precision \"fortnight\" (use ns, us, ms or s)"}`, 0},
		{"/write?db=%ff", "a b=1", 400, `{"error":"name of the database: is no UTF-8 at byte 0 (ff)"}`, 0},
		{"/api/v2/write?bucket=d&precision=ms", "e b=1 " + at(1) + "000", 204, "", 1},
		{"/api/v2/write?bucket=d&precision=h", "a b=1", 400, `{"code":"invalid","message":"invalid precision \"h\" (use ns, us, ms or s)"}`, 0},
		{"/api/v2/write?bucket=d", "bad", 400, `{"code":"invalid","message":"unable to parse 'bad': missing fields"}`, 0},
	} {
		before := len(rec.Samples())
		a := r.Do(post(t, r.URL()+tt.url, []byte(tt.body)))
		if got := len(rec.Samples()) - before; a.Status != tt.status || a.Text != tt.text || got != tt.samples {
			t.Errorf("%s %q: %d %s, %d samples; want %d %s, %d", tt.url, tt.body, a.Status, a.Text, got, tt.status, tt.text, tt.samples)
		}
		if a.Header.Get("X-Influxdb-Version") == "" || (tt.status == 400) != (a.Header.Get("X-Influxdb-Error") != "") {
			t.Errorf("%s %q: header %v", tt.url, tt.body, a.Header)
		}
	}
	for _, s := range rec.Series() {
		if want := "/db=d/b"; !strings.HasSuffix(s.Path, want) || s.Labels[1].Name != "db" || s.Labels[1].Value != "d" {
			t.Errorf("%s, %v: the database is not in them", s.Path, s.Labels)
		}
	}
}

// TestDropped: what comes for a series that was dropped a moment ago is to be sent again. It was
// refused for ever, as values that do not fit.
func TestDropped(t *testing.T) {
	store := enginetest.Open(t)
	c := httpCase()
	c.Protocol.New = func(cfg receivers.Config, _ receivers.Sink) (receivers.Receiver, error) {
		return influx.HTTP.New(cfg, sink.New(store, sink.Options{}))
	}
	r := receivertest.Start(t, c, new(receivertest.Recorder), nil)
	for n, want := range []int{204, 503, 204} {
		if n == 1 {
			if err := core.Drop(t.Context(), store, "influx/m/v"); err != nil {
				t.Fatal(err)
			}
		}
		body := fmt.Sprintf("m v=%d %d000000000", n, receivertest.Epoch+n)
		if a := r.Do(post(t, r.URL()+"/write", []byte(body))); a.Status != want {
			t.Errorf("request %d: %d %q, want %d", n, a.Status, a.Text, want)
		}
	}
}

// TestManyLines: a body of more lines than a batch takes, packed or not, is stored whole and in
// order, wherever it is cut.
func TestManyLines(t *testing.T) {
	const lines = 40_000
	var body []byte
	for n := range lines {
		body = fmt.Appendf(body, "m,host=h%d v=%d,s=\"two\nlines %d\" %d\n", n%100, n, n, receivertest.Epoch+n)
	}
	for _, encoding := range []string{"", "gzip"} {
		rec := new(receivertest.Recorder)
		r := receivertest.Start(t, httpCase(), rec, nil)
		b := body
		if encoding != "" {
			b = receivertest.Gzip(t, body)
		}
		q := post(t, r.URL()+"/write?precision=s", b)
		q.Header.Set("Content-Encoding", encoding)
		if a := r.Do(q); a.Status != http.StatusNoContent {
			t.Fatalf("%q: %d %s", encoding, a.Status, a.Text)
		}
		next := make(map[string]int)
		for _, s := range rec.Samples() {
			var host int
			if _, err := fmt.Sscanf(s.Path, "influx/m/host=h%d/v", &host); err != nil {
				t.Fatal(err)
			}
			want := rra.Float(float64(100*next[s.Path] + host))
			if next[s.Path]++; s.Values[0] != want {
				t.Fatalf("%q: %s: %+v, want %+v", encoding, s.Path, s.Values[0], want)
			}
		}
		if n := len(rec.Samples()); n != lines {
			t.Errorf("%q: %d samples, want %d", encoding, n, lines)
		}
	}
}

// TestHostileBodies: what is packed wrongly, or is too long when it is unpacked, is refused with
// 4xx, and little memory is taken for it.
func TestHostileBodies(t *testing.T) {
	r := receivertest.Start(t, httpCase(), new(receivertest.Recorder), nil)
	good := receivertest.Gzip(t, line(1))
	bomb := receivertest.Gzip(t, make([]byte, 65<<20))
	lying := append(bytes.Clone(bomb[:len(bomb)-4]), 1, 0, 0, 0)
	for name, tt := range map[string]struct {
		encoding string
		body     []byte
		status   int
	}{
		"truncated":         {"gzip", good[:len(good)-9], 400},
		"no gzip":           {"gzip", line(1), 400},
		"empty":             {"gzip", nil, 400},
		"wrong checksum":    {"gzip", append(bytes.Clone(good[:len(good)-8]), 1, 2, 3, 4, good[len(good)-4], 0, 0, 0), 400},
		"bomb":              {"gzip", bomb, 413},
		"bomb that lies":    {"gzip", lying, 413},
		"other encoding":    {"zstd", good, 415},
		"bytes of no lines": {"", bytes.Repeat([]byte{0}, 4<<20), 204},
		"one long line":     {"", bytes.Repeat([]byte("x,"), 2<<20), 400},
		"quotes":            {"", []byte("x y=1\n" + strings.Repeat("x y=\"\\\n", 500_000)), 400},
	} {
		q := post(t, r.URL()+"/write", tt.body)
		q.Header.Set("Content-Encoding", tt.encoding)
		if a := r.Do(q); a.Status != tt.status || len(a.Text) > 10_000 {
			t.Errorf("%s: %d %.200s, want %d", name, a.Status, a.Text, tt.status)
		}
	}
	if a := r.Ask(line(5)); a.Status != http.StatusNoContent {
		t.Errorf("behind them: %d %s", a.Status, a.Text)
	}
}

// TestBesidesWrites: what clients ask before they write is answered.
func TestBesidesWrites(t *testing.T) {
	r := receivertest.Start(t, httpCase(), new(receivertest.Recorder), nil)
	for _, tt := range []struct {
		method, url, form string
		status            int
		want              string
	}{
		{"GET", "/ping", "", 204, ""},
		{"HEAD", "/ping", "", 204, ""},
		{"GET", "/ping?verbose=true", "", 200, `"version":"1.8`},
		{"GET", "/health", "", 200, `"status":"pass"`},
		{"POST", "/query?q=CREATE+DATABASE+%22telegraf%22", "", 200, `{"results":[{"statement_id":0}]}`},
		{"POST", "/query", "q=create++database+x&db=", 200, `{"results":[{"statement_id":0}]}`},
		{"GET", "/query?q=SHOW+DATABASES", "", 200, `"databases"`},
		{"GET", "/query?q=SELECT+*+FROM+cpu", "", 200, `"error":"this server`},
		{"GET", "/query", "", 400, `missing required parameter`},
	} {
		q, err := http.NewRequest(tt.method, r.URL()+tt.url, strings.NewReader(tt.form))
		if err != nil {
			t.Fatal(err)
		}
		if tt.form != "" {
			q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		a := r.Do(q)
		if a.Status != tt.status || !strings.Contains(a.Text, tt.want) {
			t.Errorf("%s %s: %d %s, want %d %s", tt.method, tt.url, a.Status, a.Text, tt.status, tt.want)
		}
		if a.Text != "" && !json.Valid([]byte(a.Text)) {
			t.Errorf("%s %s: %s is no JSON", tt.method, tt.url, a.Text)
		}
		if a.Header.Get("X-Influxdb-Version") == "" {
			t.Errorf("%s %s: no version", tt.method, tt.url)
		}
	}
	if st := r.Stats(); st.Dropped[receivers.Unsupported] != 1 {
		t.Errorf("stats %+v", st)
	}
}
