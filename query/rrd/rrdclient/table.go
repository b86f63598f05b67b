package rrdclient

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
)

// Table returns the rows of the finest archive that reaches back to the start of r. The server
// chooses it, whatever resolution r asks for.
func (c *Client) Table(ref core.Ref, r query.Request) (*query.Table, error) {
	f, err := c.Series(ref)
	if err != nil {
		return nil, err
	}
	// The server takes a time below 1 as seconds before now.
	a, err := c.do(context.Background(), fmt.Sprintf("FETCH %s %s %d %d", c.name(f.Path), r.CF, max(r.Start, 1), max(r.End, 1)))
	if err != nil {
		return nil, err
	}
	t, err := parseTable(a.lines)
	if err != nil {
		return nil, fmt.Errorf("%s: rows of %s: %w", c.addr, f.Path, err)
	}
	return t, nil
}

var errAnswer = errors.New("the answer does not parse")

// farthest bounds the times of rows: no series covers as many seconds.
const farthest = 1 << 40

// parseTable reads the lines of FETCH.
func parseTable(lines []string) (*query.Table, error) {
	t := &query.Table{Archive: -1}
	heads := map[string]*int64{"Start": &t.Start, "End": &t.End, "Step": &t.Step}
	for len(lines) > 0 {
		key, value, ok := strings.Cut(lines[0], ": ")
		if key == "DSName" {
			t.DS = strings.Fields(value)
		} else if to := heads[key]; to != nil && ok {
			var err error
			if *to, err = strconv.ParseInt(value, 10, 64); err != nil {
				return nil, errAnswer
			}
		} else if key != "FlushVersion" && key != "DSCount" {
			break
		}
		lines = lines[1:]
	}
	if t.Step < 1 || t.Step > farthest || t.End < t.Start || t.Start < -farthest || t.End > farthest || len(t.DS) == 0 || int64(len(lines)) != (t.End-t.Start)/t.Step {
		return nil, errAnswer
	}
	t.Values = make([]float64, 0, len(lines)*len(t.DS))
	for _, line := range lines {
		_, row, _ := strings.Cut(line, ":")
		fields := strings.Fields(row)
		if len(fields) != len(t.DS) {
			return nil, errAnswer
		}
		for _, field := range fields {
			v, err := parseFloat(field)
			if err != nil {
				return nil, errAnswer
			}
			t.Values = append(t.Values, v)
		}
	}
	return t, nil
}
