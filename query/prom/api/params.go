package api

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/rondo-db/rondo/query/prom/bound"
)

// The ends of time, as Prometheus has them: lists without start and end reach that far.
var (
	minTime = time.Unix(math.MinInt64/1000+62135596801, 0).UTC()
	maxTime = time.Unix(math.MaxInt64/1000-62135596801, 999999999).UTC()
)

// form reads the parameters of a request from its address and from a form in its body, whose values
// come first. Parameters that cannot be read are left out. Expressions that would cost too much are
// refused before anything parses them.
func form(r *http.Request) error {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = http.MaxBytesReader(nil, r.Body, maxForm)
	}
	err := r.ParseForm()
	if tooLong, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return bad("the form is longer than %d bytes", tooLong.Limit)
	}
	var b bound.Budget
	if err := b.Expression(r.FormValue("query")); err != nil {
		return badParameter("query", err)
	}
	for _, text := range r.Form["match[]"] {
		if err := b.Expression(text); err != nil {
			return badParameter("match[]", err)
		}
	}
	return nil
}

// parseTime reads seconds since 1970 with fractions, or RFC 3339.
func parseTime(s string) (time.Time, error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if math.IsNaN(f) || f < float64(minTime.Unix()) || f > float64(maxTime.Unix()) {
			return time.Time{}, unreadableTime(s)
		}
		whole, fraction := math.Modf(f)
		millis := math.Round(fraction * 1000)
		return time.Unix(int64(whole), int64(millis)*int64(time.Millisecond)).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	for _, t := range []time.Time{minTime, maxTime} { // years of more than four digits
		if s == t.Format(time.RFC3339Nano) {
			return t, nil
		}
	}
	return time.Time{}, unreadableTime(s)
}

func unreadableTime(s string) error { return fmt.Errorf("cannot parse %q to a valid timestamp", s) }

// parseDuration reads seconds with fractions, or a duration as 1h30m.
func parseDuration(s string) (time.Duration, error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		ns := f * float64(time.Second)
		if math.IsNaN(ns) || ns >= math.MaxInt64 || ns <= math.MinInt64 {
			return 0, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", s)
		}
		return time.Duration(ns), nil
	}
	if d, err := model.ParseDuration(s); err == nil {
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("cannot parse %q to a valid duration", s)
}

// timeParam returns the time of a parameter, or otherwise if the request has none.
func timeParam(r *http.Request, name string, otherwise time.Time) (time.Time, error) {
	s := r.FormValue(name)
	if s == "" {
		return otherwise, nil
	}
	t, err := parseTime(s)
	if err != nil {
		return time.Time{}, badParameter(name, fmt.Errorf("invalid time value for '%s': %w", name, err))
	}
	return t, nil
}

// limitParam returns the limit of a request. A request without a limit has 0.
func limitParam(r *http.Request) (int, error) {
	const name = "limit"
	s := r.FormValue(name)
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	switch {
	case err != nil:
		return 0, badParameter(name, err)
	case n < 0:
		return 0, badParameter(name, errors.New("limit must be non-negative"))
	}
	return n, nil
}

// matchers returns the sets of matchers of match[]. Each set needs a matcher that does not match
// the empty text: without one it would find everything.
func matchers(r *http.Request) ([][]*labels.Matcher, error) {
	texts := r.Form["match[]"]
	if len(texts) > maxSelectors {
		return nil, bad("%d match[] parameters, at most %d are taken", len(texts), maxSelectors)
	}
	sets, err := parser.ParseMetricSelectors(texts)
	if err != nil {
		return nil, err
	}
	for _, set := range sets {
		if !narrow(set) {
			return nil, bad("match[] must contain at least one non-empty matcher")
		}
	}
	return sets, nil
}

func narrow(set []*labels.Matcher) bool {
	for _, m := range set {
		if m != nil && !m.Matches("") {
			return true
		}
	}
	return false
}

// A span is the time of a list, and how long the list may be.
type span struct {
	start, end time.Time
	limit      int
	sets       [][]*labels.Matcher
}

// spanOf returns the parameters that lists have in common. wrong formats an error of match[].
func spanOf(r *http.Request, wrong string) (s span, err error) {
	if s.limit, err = limitParam(r); err != nil {
		return span{}, err
	}
	if s.start, err = timeParam(r, "start", minTime); err != nil {
		return span{}, err
	}
	if s.end, err = timeParam(r, "end", maxTime); err != nil {
		return span{}, err
	}
	if s.sets, err = matchers(r); err != nil {
		return span{}, bad(wrong, err)
	}
	return s, nil
}

// most is the greatest length of the list. Storages are asked for one entry more, which shows
// whether the list was cut.
func (s *span) most() int {
	if s.limit > 0 {
		return min(s.limit, maxListed)
	}
	return maxListed
}
