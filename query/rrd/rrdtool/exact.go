package rrdtool

import (
	"strings"

	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/rrd/numeral"
)

// appendExact appends v with the fewest digits that read back as the same double. An unknown value
// is nan.
func appendExact(dst []byte, v float64) []byte { return numeral.AppendC(dst, v, "nan", 'g', -1) }

// oneLine escapes a text so that it fits in one line.
var oneLine = strings.NewReplacer(`\`, `\\`, "\n", `\n`)

func appendExactRow(line []byte, values []float64) []byte {
	for i, v := range values {
		if i > 0 {
			line = append(line, ' ')
		}
		line = appendExact(line, v)
	}
	return append(line, '\n')
}

// exactRows prints start, step and names of the data sources, and a line for each row.
func (c *command) exactRows(plan *query.Plan) error {
	c.printf("%d %d", plan.Start, plan.Step)
	for _, name := range plan.DS {
		c.printf(" %s", name)
	}
	c.printf("\n")
	var line []byte
	for t, err := range plan.Pieces(c.ctx) {
		if err != nil {
			return err
		}
		for i := range t.Len() {
			_, values := t.Row(i)
			line = appendExactRow(line[:0], values)
			if _, err := c.out.Write(line); err != nil {
				return err
			}
		}
	}
	return nil
}
