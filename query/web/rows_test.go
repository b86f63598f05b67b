package web_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A rowQuestion asks for rows.
type rowQuestion struct {
	Select     []struct{ Path, Cf string }
	Start, End string
	MaxPoints  int
}

// rowQuestions returns the questions for rows that a page answers.
func rowQuestions(t *testing.T, body string) (all []rowQuestion) {
	t.Helper()
	for question, answer := range answers(t, body) {
		message, ok := strings.CutPrefix(question, "FetchMany ")
		if !ok {
			continue
		}
		var q rowQuestion
		if err := json.Unmarshal([]byte(message), &q); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(answer, `"columns"`) {
			t.Errorf("to %s: %s", question, answer)
		}
		all = append(all, q)
	}
	return all
}

// TestSeriesComesWithItsRows: the page of a series has the rows that its script asks for first, of
// the range in the address and for the width that the script has sent.
func TestSeriesComesWithItsRows(t *testing.T) {
	s, _ := newPlain(t)
	for _, c := range []struct {
		query, cookie string
		length        int64 // seconds
		points        int
	}{
		{"", "", 86400, 1200},
		{"?from=-1y", "points=400", 365 * 86400, 400},
		{"?from=-90min&to=now", "points=1600", 5400, 1600},
		{"?from=now-2mon&to=-1mon", "points=7", 31 * 86400, 1200},
		{"?from=1700000000&to=1700003600.5", "", 3601, 1200},
		{"?from=nonsense", "", 86400, 1200},
		{"?from=-5s", "", 86400, 1200},
		{"?from=-200y", "", 86400, 1200},
	} {
		_, body := ask(t, s, "GET", "/series/net/eth0"+c.query, "Cookie", c.cookie)
		got := rowQuestions(t, body)
		if len(got) != 1 {
			t.Errorf("%s: %d questions for rows", c.query, len(got))
			continue
		}
		start, err1 := strconv.ParseInt(got[0].Start, 10, 64)
		end, err2 := strconv.ParseInt(got[0].End, 10, 64)
		if d := end - start; err1 != nil || err2 != nil || d < c.length || d > c.length+1 || got[0].MaxPoints != c.points || got[0].Select[0].Path != "net/eth0" {
			t.Errorf("%s: rows of %+v", c.query, got[0])
		}
		if !strings.Contains(c.query, "to=") && end < time.Now().Add(-time.Minute).Unix() {
			t.Errorf("%s: rows end at %d", c.query, end)
		}
	}
}

// TestPagesArePacked: a page goes through a network in gzip, and stays plain on one machine.
func TestPagesArePacked(t *testing.T) {
	s, _ := newPlain(t)
	for from, want := range map[string]string{"192.0.2.7:4711": "gzip", "[2001:db8::7]:4711": "gzip", "127.0.0.1:4711": "", "[::1]:4711": "", "@": "gzip"} {
		r := httptest.NewRequest("GET", "/series/net/eth0", nil)
		r.RemoteAddr = from
		r.Header.Set("Accept-Encoding", "gzip, br")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		body := io.Reader(w.Body)
		if got := w.Header().Get("Content-Encoding"); got != want {
			t.Errorf("to %s: encoding %q", from, got)
		}
		if want != "" {
			z, err := gzip.NewReader(body)
			if err != nil {
				t.Fatal(err)
			}
			body = z
		}
		if text, err := io.ReadAll(body); err != nil || !strings.HasSuffix(string(text), "</html>\n") {
			t.Errorf("to %s: %v, %.50q", from, err, text)
		}
	}
}
