package web

import (
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// firstRows writes the rows of a series' chart into its page, as an answer to the first question
// of the script: it draws them in its first frame. Rows that are too long for a page are left out.
func (s *Server) firstRows(r *http.Request, p *page, path string, info *rondov1.InfoResponse) {
	q := r.URL.Query()
	from, to := rangeOf(q.Get("from"), q.Get("to"), time.Now())
	m := &rondov1.FetchManyRequest{
		Start: strconv.FormatFloat(math.Floor(from), 'f', -1, 64), End: strconv.FormatFloat(math.Ceil(to), 'f', -1, 64), MaxPoints: pointsOf(r),
	}
	for _, cf := range functions(info.GetSeries().GetDefinition().GetRra()) {
		m.Select = append(m.Select, &rondov1.Selection{Path: path, Cf: cf})
	}
	const digits = 20 // of a value, and a comma
	if size := len(m.Select) * len(info.GetSources()) * int(m.MaxPoints) * digits; size == 0 || size > maxAnswers {
		return
	}
	_, _ = begin(r.Context(), p, "FetchMany", s.RPC.FetchMany, m) // the script says what is wrong
}

// functions returns the consolidation functions of the archives that a chart takes: the function of
// the same name in assets/definition.js chooses among them.
func functions(archives []string) (all []string) {
	has := func(cf string) bool {
		return slices.ContainsFunc(archives, func(a string) bool { return strings.HasPrefix(a, "RRA:"+cf+":") })
	}
	// one adds the first function of a list that the series has.
	one := func(list ...string) (found string) {
		if i := slices.IndexFunc(list, has); i >= 0 {
			found = list[i]
			all = append(all, found)
		}
		return found
	}
	switch one("AVERAGE", "LAST", "MAX", "MIN") {
	case "AVERAGE", "LAST":
		one("MIN")
		one("MAX")
	case "":
		return nil
	}
	one("HWPREDICT", "MHWPREDICT")
	one("DEVPREDICT")
	one("FAILURES")
	return all
}

// pointsOf returns how many rows of a line the script will ask for. It has sent a cookie, unless it
// is the usual number.
func pointsOf(r *http.Request) int32 {
	if c, err := r.Cookie("points"); err == nil {
		for _, n := range []int32{400, 800, 1600} {
			if c.Value == strconv.Itoa(int(n)) {
				return n
			}
		}
	}
	return 1200
}

var (
	ago     = regexp.MustCompile(`^(?:now)?-(\d+(?:\.\d+)?)(s|sec|min|h|d|w|mon|M|y)$`)
	since   = regexp.MustCompile(`^\d+(\.\d+)?$`)
	lengths = map[string]float64{"s": 1, "sec": 1, "min": 60, "h": 3600, "d": 86400, "w": 604800, "mon": 31 * 86400, "M": 31 * 86400, "y": 365 * 86400}
)

// rangeOf returns the seconds since 1970 that the script makes of a range in an address, as the
// function of the same name in assets/state.js does.
func rangeOf(from, to string, now time.Time) (first, last float64) {
	at := float64(now.UnixMicro()) / 1e6
	seconds := func(text, otherwise string) float64 {
		if text == "" {
			text = otherwise
		}
		if since.MatchString(text) {
			v, _ := strconv.ParseFloat(text, 64) // digits; too many are infinite, and no range
			return v
		}
		if m := ago.FindStringSubmatch(text); m != nil {
			v, _ := strconv.ParseFloat(m[1], 64)
			return at - v*lengths[m[2]]
		}
		if text == "now" {
			return at
		}
		return math.NaN()
	}
	first, last = seconds(from, "-1d"), seconds(to, "now")
	const shortest, longest = 10, 100 * 365 * 86400
	if d := last - first; !(d >= shortest && d <= longest) {
		return at - lengths["d"], at
	}
	return first, last
}
