package web

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// TestTimesAreReadAsTheCommandLineDoes: in the reader's zone, and errors are for people.
func TestTimesAreReadAsTheCommandLineDoes(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	s := New(Config{Now: func() time.Time { return now }})
	for _, c := range []struct {
		from, to, tz, want string
		code               int
	}{
		{"-3h", "", "", `{"from":1795856400,"to":1795867200}`, 200},
		{"yesterday", "now", "UTC", `{"from":1795737600,"to":1795867200}`, 200},
		{"2026-11-27 18:00", "2026-11-27 19:00", "Europe/Berlin", `{"from":1795798800,"to":1795802400}`, 200},
		{"18:00 yesterday", "", "Asia/Kathmandu", `{"from":1795781700,"to":1795867200}`, 200},
		{"midnight", "end+1h", "Nowhere/Else", `{"from":1795824000,"to":1795827600}`, 400},
		{"yesterday", "now", "Nowhere/Else", "this server does not know the zone Nowhere/Else", 400},
		{"now", "-1h", "UTC", "the range ends before it begins", 400},
		{"2026-13-40", "", "UTC", "'2026-13-40' is no time", 400},
		{"<script>", "", "UTC", "", 400},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", timesPath+"?"+url.Values{"from": {c.from}, "to": {c.to}, "tz": {c.tz}}.Encode(), nil))
		got := strings.TrimSpace(w.Body.String())
		if w.Code != c.code || c.code == 200 && got != c.want || !strings.Contains(got, c.want) && c.code != 200 && !strings.HasPrefix(c.want, "{") {
			t.Errorf("%s to %s in %s: %d %s, want %d %s", c.from, c.to, c.tz, w.Code, got, c.code, c.want)
		}
	}
}

// TestTypedTimes: a page reads the texts of the table as the command line does, which has the same
// table. null is an error.
func TestTypedTimes(t *testing.T) {
	data, err := os.ReadFile("testdata/times.json")
	if err != nil {
		t.Fatal(err)
	}
	var table []struct {
		Now   int64
		Zone  string
		Times map[string]*int64
	}
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	for _, c := range table {
		s := New(Config{Now: func() time.Time { return time.Unix(c.Now, 0) }})
		for text, want := range c.Times {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest("GET", timesPath+"?"+url.Values{"from": {text}, "to": {"now+2d"}, "tz": {c.Zone}}.Encode(), nil))
			var got struct{ From int64 }
			if want == nil && w.Code != 400 || want != nil && (json.Unmarshal(w.Body.Bytes(), &got) != nil || got.From != *want) {
				t.Errorf("%q at %d in %s: %d %s", text, c.Now, c.Zone, w.Code, w.Body)
			}
		}
	}
}

// TestRangesByName: Monday begins the week, also for a reader on a Sunday.
func TestRangesByName(t *testing.T) {
	for day, want := range map[int]string{1: "2026-10-26", 2: "2026-11-02", 8: "2026-11-02"} {
		now := time.Date(2026, 11, day, 12, 0, 0, 0, time.UTC)
		from, to := named("thisweek", "now", now)
		monday, _ := time.Parse(time.DateOnly, want)
		if from != seconds(monday.Year(), monday.Month(), monday.Day(), time.UTC) || to != "now" {
			t.Errorf("on 2026-11-%02d: %s to %s, want %s", day, from, to, want)
		}
	}
	from, to := named("lastmonth", "thismonth", time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	if from != seconds(2025, 12, 1, time.UTC) || to != seconds(2026, 1, 1, time.UTC) {
		t.Errorf("the month before: %s to %s", from, to)
	}
}
