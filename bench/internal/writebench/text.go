package writebench

import (
	"encoding/json"
	"fmt"
	"io"
	"syscall"
	"text/tabwriter"
	"time"
)

// ownTimes returns the processor time of this process.
func ownTimes() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// WriteText prints results side by side. The last column is the first result divided by the second.
func WriteText(w io.Writer, rs []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(name, format string, value func(*Result) float64) {
		_, _ = fmt.Fprint(t, name, "\t") // Flush returns the error
		for i := range rs {
			_, _ = fmt.Fprintf(t, format+"\t", value(&rs[i]))
		}
		if len(rs) == 2 && value(&rs[1]) != 0 {
			_, _ = fmt.Fprintf(t, "%.2f\t", value(&rs[0])/value(&rs[1]))
		}
		_, _ = fmt.Fprintln(t)
	}
	_, _ = fmt.Fprint(t, "\t")
	for i := range rs {
		_, _ = fmt.Fprint(t, rs[i].Name, "\t")
	}
	_, _ = fmt.Fprintln(t)
	line("samples a second", "%.0f", func(r *Result) float64 { return r.Rate })
	line("CPU seconds a million", "%.3f", func(r *Result) float64 { return r.CPU })
	line("request, median ms", "%.2f", func(r *Result) float64 { return r.Median })
	line("request, 99 % ms", "%.2f", func(r *Result) float64 { return r.P99 })
	line("first round, s", "%.2f", func(r *Result) float64 { return r.FirstRound })
	line("first round, CPU µs a series", "%.1f", func(r *Result) float64 { return r.FirstCPU })
	line("sent again", "%.0f", func(r *Result) float64 { return float64(r.Again) })
	line("driver's CPU seconds a million", "%.3f", func(r *Result) float64 { return r.DriverCPU })
	return t.Flush()
}

// WriteJSON prints results as JSON.
func WriteJSON(w io.Writer, rs []Result) error { return json.NewEncoder(w).Encode(rs) }
