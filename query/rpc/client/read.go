package client

import (
	"context"
	"iter"
	"strconv"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// Rows are consecutive rows of one archive. An unknown value is NaN.
type Rows struct {
	Path  string
	Start time.Time // the first row ends a step later
	Step  time.Duration
	DS    []string    // names of the data sources
	Value [][]float64 // by data source, then by row
}

// Len returns the number of rows.
func (r *Rows) Len() int {
	if len(r.Value) == 0 {
		return 0
	}
	return len(r.Value[0])
}

// End returns the time at which a row ends, counted from 0.
func (r *Rows) End(row int) time.Time { return r.Start.Add(time.Duration(row+1) * r.Step) }

func rowsOf(m *rondov1.FetchResponse) Rows {
	r := Rows{Path: m.GetPath(), Start: time.Unix(m.GetStart(), 0), Step: time.Duration(m.GetStep()) * time.Second}
	for _, c := range m.GetColumns() {
		r.DS, r.Value = append(r.DS, c.GetDs()), append(r.Value, c.GetValues())
	}
	return r
}

// Fetch returns the rows of a series between two times, of the archive that serves the range best.
// cf is AVERAGE, MIN, MAX, LAST and so on. resolution is the wished time of a row; 0 means the
// finest.
func (c *Client) Fetch(ctx context.Context, path, cf string, start, end time.Time, resolution time.Duration) (Rows, error) {
	r, err := c.API.Fetch(ctx, &rondov1.FetchRequest{
		Path: path, Cf: cf, Start: seconds(start), End: seconds(end), Resolution: int64(resolution / time.Second),
	})
	if err != nil {
		return Rows{}, err
	}
	return rowsOf(r), nil
}

func seconds(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// Query evaluates an expression of PromQL at a time.
func (c *Client) Query(ctx context.Context, expr string, at time.Time) (*rondov1.QueryResponse, error) {
	return c.API.Query(ctx, &rondov1.QueryRequest{Query: expr, Time: exact(at)})
}

// QueryRange evaluates an expression of PromQL at start and at each step after it up to end.
func (c *Client) QueryRange(ctx context.Context, expr string, start, end time.Time, step time.Duration) (*rondov1.QueryResponse, error) {
	return c.API.Query(ctx, &rondov1.QueryRequest{Query: expr, Start: exact(start), End: exact(end), Step: step.Seconds()})
}

// exact returns a time in seconds, with milliseconds as PromQL has them.
func exact(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1e3, 'f', 3, 64) }

// tailPause is the time between the end of a Tail that the server has ended and the next one.
const tailPause = time.Second

// Tail yields the new rows of the series that m selects, as they close. It ends after an error and
// at the end of ctx. If the server ends or cannot be reached, Tail begins again where it was, each
// second until ctx ends; no row is yielded twice.
func (c *Client) Tail(ctx context.Context, m *rondov1.TailRequest) iter.Seq2[Rows, error] {
	return func(yield func(Rows, error) bool) {
		last := make(map[string]int64) // end of the last row, by path
		from := &rondov1.TailRequest{Paths: m.GetPaths(), Prefix: m.GetPrefix(), Matchers: m.GetMatchers(), Cf: m.GetCf(), Start: m.GetStart()}
		for {
			on, err := c.tailOnce(ctx, from, last, func(r Rows) bool { return yield(r, nil) })
			switch {
			case !on:
				return
			case connect.CodeOf(err) != connect.CodeUnavailable || sleep.For(ctx, tailPause) != nil:
				yield(Rows{}, err)
				return
			}
			oldest := int64(0)
			for _, end := range last {
				if oldest == 0 || end < oldest {
					oldest = end
				}
			}
			if oldest > 0 {
				from.Start = strconv.FormatInt(oldest, 10)
			}
		}
	}
}

// tailOnce yields the rows of one stream. on is false if yield wants no more.
func (c *Client) tailOnce(ctx context.Context, m *rondov1.TailRequest, last map[string]int64, yield func(Rows) bool) (on bool, err error) {
	stream, err := c.API.Tail(ctx, m)
	if err != nil {
		return true, err
	}
	defer func() { _ = stream.Close() }() // its error would say nothing new
	for stream.Receive() {
		for _, x := range stream.Msg().GetRows() {
			r := rowsOf(x)
			if known := last[x.GetPath()]; known > x.GetStart() {
				r.skip(int((known - x.GetStart()) / x.GetStep()))
			}
			last[x.GetPath()] = max(last[x.GetPath()], x.GetEnd())
			if r.Len() > 0 && !yield(r) {
				return false, nil
			}
		}
	}
	if err := stream.Err(); err != nil {
		return true, err
	}
	return false, nil
}

// skip leaves out the first n rows.
func (r *Rows) skip(n int) {
	n = min(n, r.Len())
	for i := range r.Value {
		r.Value[i] = r.Value[i][n:]
	}
	r.Start = r.Start.Add(time.Duration(n) * r.Step)
}
