package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/rrd/attime"
	"github.com/rondo-db/rondo/query/rrd/numeral"
	"github.com/rondo-db/rondo/rra"
)

const fetchUsage = `NAME CF [OPTIONS]
  -s, --start TIME        rows after TIME (end-1d)
  -e, --end TIME          rows up to TIME (now)
  -r, --resolution SECONDS
                          seconds a row, about; 5m, 1h … (the finest)
  -a, --align-start       move both times back to where START is a
                          multiple of the resolution
  -d, --daemon ADDRESS    ask the server at ADDRESS`

var fetchOptions = optionsIn(fetchUsage)

// fetch prints the rows of an archive.
func (c *command) fetch(args []string) error {
	times := attime.NewRange(c.now())
	r := query.Request{Resolution: 1}
	args, err := parse(args, fetchOptions, func(name, arg string) (err error) {
		switch name {
		case "start", "end":
			return times.Set(name, arg)
		case "resolution":
			if r.Resolution, err = rra.ParseDuration(arg); err != nil {
				return fmt.Errorf("resolution: %w", err)
			}
		case "align-start":
			r.Align = true
		case "daemon":
			return c.daemon(arg)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if r.Start, r.End, err = times.Resolve(); err != nil {
		return err
	}
	switch {
	case r.Start < firstSecond:
		return errors.New("the first entry to fetch should be after 1980")
	case r.End < r.Start:
		return fmt.Errorf("start (%d) should be less than end (%d)", r.Start, r.End)
	case len(args) < 2:
		return errors.New("Usage: rrdtool fetch <file> <CF> [options]")
	}
	if r.CF, err = rra.ParseCF(args[1]); err != nil {
		return err
	}
	ref, err := c.native(args[0])
	if err != nil {
		return err
	}
	plan, err := query.NewPlan(c.Store, ref, r)
	if err != nil {
		return named(args[0], err)
	}
	return c.printRows(plan)
}

func (c *command) printRows(plan *query.Plan) error {
	if c.exact {
		return c.exactRows(plan)
	}
	c.printf("%11s", "")
	for _, name := range plan.DS {
		// C counts bytes, Go characters.
		c.printf("%s%s", strings.Repeat(" ", max(0, 20-len(name))), name)
	}
	if _, err := c.out.WriteString("\n\n"); err != nil {
		return err
	}
	var line []byte
	for t, err := range plan.Pieces(c.ctx) {
		if err != nil {
			return err
		}
		for i := range t.Len() {
			end, values := t.Row(i)
			line = appendPadded(line[:0], end)
			line = append(line, ':')
			for _, v := range values {
				line = append(line, ' ')
				n := len(line)
				line = c.locale.local(appendValue(line, v), n)
			}
			if _, err := c.out.Write(append(line, '\n')); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendPadded appends v as C's %10d prints it.
func appendPadded(dst []byte, v int64) []byte {
	n := len(dst)
	dst = strconv.AppendInt(dst, v, 10)
	if pad := 10 - (len(dst) - n); pad > 0 {
		dst = append(dst, "          "[:pad]...)
		copy(dst[n+pad:], dst[n:len(dst)-pad])
		copy(dst[n:n+pad], "          ")
	}
	return dst
}

// appendValue appends v as C's %0.10e prints it. An unknown value is -nan, with the sign that
// rrdtool usually prints on x86-64.
func appendValue(dst []byte, v float64) []byte { return numeral.AppendC(dst, v, "-nan", 'e', 10) }

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
