package promqlbench

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteText prints a line for each query and program. The lines of all programs but the first one
// end with the figures of the first one, divided by theirs.
func WriteText(w io.Writer, rs []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	// Flush returns errors.
	_, _ = fmt.Fprintln(t, "query\tprogram\tfound\truns\tmedian ms\t99 % ms\tCPU ms\tratio of medians\tof CPU\t")
	first := 0
	for i := range rs {
		r := &rs[i]
		_, _ = fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%.2f\t%.2f\t%.2f\t", r.Query, r.Program, r.Found, r.Runs, r.Median, r.P99, r.CPU)
		if f := &rs[first]; f.Query != r.Query {
			first = i
		} else if i > first {
			_, _ = fmt.Fprintf(t, "%s\t%s\t", ratio(f.Median, r.Median), ratio(f.CPU, r.CPU))
		}
		_, _ = fmt.Fprintln(t)
	}
	return t.Flush()
}

// ratio prints a/b. A run may be too short for the clock of the processor time.
func ratio(a, b float64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}

// WriteJSON prints results as JSON.
func WriteJSON(w io.Writer, rs []Result) error { return json.NewEncoder(w).Encode(rs) }
