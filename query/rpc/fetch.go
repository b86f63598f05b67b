package rpc

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/attime"
	"github.com/rondo-db/rondo/rra"
)

// Fetch returns the rows of the archive that serves the requested range best.
func (s *Server) Fetch(ctx context.Context, m *rondov1.FetchRequest) (*rondov1.FetchResponse, error) {
	asked, err := s.asked(m)
	if err != nil {
		return nil, err
	}
	if asked.CF, err = parseCF(m.GetCf()); err != nil {
		return nil, err
	}
	e, err := s.info(ctx, m.GetPath(), m.GetRef())
	if err != nil {
		return nil, err
	}
	plan, err := query.PlanOf(core.Simple{Engine: s.Store}, e.Ref, e.Definition, e.LastUpdate(), asked)
	if err != nil {
		return nil, fail(err, "fetch %.200q", e.Path)
	}
	if n := int64(len(plan.DS)); plan.Rows() > maxFetchValues/n {
		return nil, exhausted("%d rows of %d values asked, at most %d values are given at once", plan.Rows(), n, maxFetchValues)
	}
	charge := chargeFor(ctx)
	if err := charge.doubles(plan.Rows() * int64(len(plan.DS))); err != nil {
		return nil, err
	}
	rows := &rondov1.FetchResponse{Path: e.Path, Start: plan.Start, End: plan.End, Step: plan.Step}
	for _, name := range plan.DS {
		rows.Columns = append(rows.Columns, &rondov1.Column{Ds: name, Values: make([]float64, 0, plan.Rows())})
	}
	for piece, err := range plan.Pieces(ctx) {
		if err != nil {
			return nil, fail(err, "fetch %.200q", e.Path)
		}
		for i, v := range piece.Values {
			c := rows.Columns[i%len(plan.DS)]
			c.Values = append(c.Values, v)
		}
	}
	return rows, nil
}

// A ranged is a request for the rows of a range.
type ranged interface {
	GetStart() string
	GetEnd() string
}

// A resolved is a ranged with a resolution.
type resolved interface {
	ranged
	GetResolution() int64
}

// asked returns the range and the resolution that a request asks for.
func (s *Server) asked(m resolved) (query.Request, error) {
	start, end, err := timeRange(m, s.now())
	switch {
	case err != nil:
		return query.Request{}, invalid("%w", err)
	case start < 0 || end < start:
		return query.Request{}, invalid("start (%d) is not before end (%d), or before 1970%s", start, end, monthsHint(m))
	case m.GetResolution() < 0:
		return query.Request{}, invalid("resolution %d is negative", m.GetResolution())
	}
	return query.Request{Start: start, End: end, Resolution: m.GetResolution()}, nil
}

// timeRange returns the requested range in seconds since 1970.
func timeRange(m ranged, now time.Time) (start, end int64, err error) {
	return attime.PairISO(cmp.Or(m.GetStart(), "end-1day"), cmp.Or(m.GetEnd(), "now"), now)
}

// fewM matches an offset in m that rrdtool's at-style reads as months, not minutes.
var fewM = regexp.MustCompile(`[-+]\s*[1-5]m$`)

// monthsHint returns a hint for the error message if an offset was read as months but probably
// meant minutes.
func monthsHint(m ranged) string {
	for _, text := range []string{m.GetStart(), m.GetEnd()} {
		if fewM.MatchString(text) {
			return fmt.Sprintf(": %.40q are months, write min for minutes", text)
		}
	}
	return ""
}

func parseCF(name string) (rra.CF, error) {
	cf, err := rra.ParseCF(strings.ToUpper(cmp.Or(name, rra.Average.String())))
	if err != nil {
		return 0, invalid("cf: %w", err)
	}
	return cf, nil
}
