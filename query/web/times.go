package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/rondo-db/rondo/query/rrd/attime"
)

// timesPath is the address at which the script of a page asks what a reader has typed.
const timesPath = "/times"

// times answers with the seconds since 1970 that from and to mean in the zone tz, as the command
// line reads them.
func (s *Server) times(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	zone, err := time.LoadLocation(cmp.Or(q.Get("tz"), "UTC"))
	if err != nil {
		http.Error(w, "this server does not know the zone "+q.Get("tz")+": choose UTC.", http.StatusBadRequest)
		return
	}
	var answer struct {
		From int64 `json:"from"`
		To   int64 `json:"to"`
	}
	answer.From, answer.To, err = attime.PairISO(q.Get("from"), cmp.Or(q.Get("to"), "now"), s.Now().In(zone))
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case answer.To <= answer.From:
		http.Error(w, "the range ends before it begins", http.StatusBadRequest)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(answer) // the client may be gone
	}
}

// named returns the range that an address names: this week and the month before have no words that
// graphs know.
func named(from, to string, now time.Time) (string, string) {
	at := func(text string) string {
		switch text {
		case "thisweek":
			return seconds(now.Year(), now.Month(), now.Day()-(int(now.Weekday())+6)%7, now.Location())
		case "thismonth":
			return seconds(now.Year(), now.Month(), 1, now.Location())
		case "lastmonth":
			return seconds(now.Year(), now.Month()-1, 1, now.Location())
		}
		return text
	}
	return at(from), at(to)
}

func seconds(year int, month time.Month, day int, zone *time.Location) string {
	return strconv.FormatInt(time.Date(year, month, day, 0, 0, 0, 0, zone).Unix(), 10)
}
