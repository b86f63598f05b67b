package rpc

import (
	"context"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine"
	"github.com/rondo-db/rondo/query/attime"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/rra"
)

// Fetch returns the rows of the archive that serves the asked range best.
func (s *Server) Fetch(ctx context.Context, req *connect.Request[rondov1.FetchRequest]) (*connect.Response[rondov1.FetchResponse], error) {
	m := req.Msg
	start, end, err := attime.ParsePair(or(m.GetStart(), "end-1day"), or(m.GetEnd(), "now"), s.now())
	switch {
	case err != nil:
		return nil, invalid("%w", err)
	case start < 0 || end < start:
		return nil, invalid("start (%d) is not before end (%d), or before 1970", start, end)
	case m.GetResolution() < 0:
		return nil, invalid("resolution %d is negative", m.GetResolution())
	}
	cf, err := parseCF(m.GetCf())
	if err != nil {
		return nil, err
	}
	e, err := s.series(m.GetPath(), m.GetRef())
	if err != nil {
		return nil, err
	}
	last, err := s.Store.Last(e.Ref)
	if err != nil {
		return nil, fail(err, "fetch %q", e.Path)
	}
	archive := choose(e.Definition, cf, last.Unix(), start, max(m.GetResolution(), 1))
	if archive < 0 {
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("series %q has no archive of %s", e.Path, cf))
	}
	step := e.Definition.Step * e.Definition.Archives[archive].PDPs
	if n := (end-start)/step + 2; n > maxFetchValues/int64(len(e.Definition.Sources)) {
		return nil, connect.NewError(connect.CodeResourceExhausted,
			fmt.Errorf("%d rows of %d values asked, at most %d values are given at once", n, len(e.Definition.Sources), maxFetchValues))
	}
	rows, err := s.Store.Fetch(ctx, e.Ref, archive, start, end)
	if err != nil {
		return nil, fail(err, "fetch %q", e.Path)
	}
	return connect.NewResponse(answerOf(e, &rows)), nil
}

func answerOf(e engine.Series, rows *engine.Rows) *rondov1.FetchResponse {
	answer := &rondov1.FetchResponse{Path: e.Path, Start: rows.Start, End: rows.End, Step: rows.Step}
	n := len(rows.DS)
	for j, name := range rows.DS {
		c := &rondov1.Column{Ds: name, Values: make([]float64, 0, len(rows.Values)/n)}
		for i := j; i < len(rows.Values); i += n {
			c.Values = append(c.Values, rows.Values[i])
		}
		answer.Columns = append(answer.Columns, c)
	}
	return answer
}

func parseCF(name string) (rra.CF, error) {
	cf, err := rra.ParseCF(strings.ToUpper(or(name, rra.Average.String())))
	if err != nil {
		return 0, invalid("cf: %w", err)
	}
	return cf, nil
}

// choose returns the archive of d that rrdtool's fetch would read: among those that reach back to
// start the one whose rows are nearest to resolution, or else the one that reaches back most. An archive of
// one primary data point a row serves AVERAGE, MIN, MAX and LAST alike. It is -1 if there is none.
func choose(d *rra.Definition, cf rra.CF, last, start, resolution int64) int {
	best, bestFull := -1, false
	var bestOff, bestCover int64
	for i, a := range d.Archives {
		if a.CF != cf && !(a.PDPs == 1 && a.CF <= rra.Last && cf <= rra.Last) {
			continue
		}
		step := d.Step * a.PDPs
		off := max(step-resolution, resolution-step)
		cover := a.Rows*step + last%step // how far it reaches back from last
		full := last-cover <= start
		better := best < 0 || full && !bestFull
		if best >= 0 && full == bestFull {
			better = full && off < bestOff || !full && (cover > bestCover || cover == bestCover && off < bestOff)
		}
		if better {
			best, bestFull, bestOff, bestCover = i, full, off, cover
		}
	}
	return best
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
