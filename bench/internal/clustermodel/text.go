package clustermodel

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// WriteResult writes what a cluster does, for people.
func WriteResult(w io.Writer, r *Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(what, format string, args ...any) {
		_, _ = fmt.Fprintf(t, "%s\t%s\n", what, fmt.Sprintf(format, args...)) // Flush returns the error
	}
	line("samples a second", "%.0f", r.Rate)
	line("CPU seconds a million, rondo", "%.3f", r.Nodes)
	line("of the nats-servers", "%.3f", r.Servers)
	line("of the driver", "%.3f", r.Driver)
	line("acknowledged after, p50 and p99, ms", "%.1f  %.1f", r.AckP50*1e3, r.AckP99*1e3)
	line("a follower is behind by, p50 and p99, ms", "%.1f  %.1f", r.LagP50*1e3, r.LagP99*1e3)
	line("samples a message of the logs", "%.0f", r.Messages)
	line("logs, MB a second", "%.2f", r.LogBytes/1e6)
	for _, b := range r.Busy {
		line("busy: "+b.What, "%.0f %%", b.Share*100)
	}
	line("bottleneck", "%s", r.Bottleneck)
	return t.Flush()
}

// WriteComparison writes what was measured beside what the model gives with some times.
func WriteComparison(w io.Writer, times Times) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "\tload\tmeasured\tmodel\tdifference") // Flush returns the error
	measured := AllMeasured()
	for i := range measured {
		m := &measured[i]
		all, err := Compare(m, times)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		_, _ = fmt.Fprintf(t, "%s, %s\n", m.Name, m.Command) // as above
		for k := range all {
			d := &all[k]
			how := fmt.Sprintf("%+.0f %%", d.Off()*100)
			if d.Fitted {
				how += ", fitted"
			}
			// As above.
			_, _ = fmt.Fprintf(t, "%s\t%s\t%.3g\t%.3g\t%s\n", d.What, d.Load, d.Mean(), d.Model, how)
		}
	}
	return t.Flush()
}

// WriteSizes writes what clusters of several sizes take, for people.
func WriteSizes(w io.Writer, all []Size) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(cells ...string) {
		_, _ = fmt.Fprintln(t, strings.Join(cells, "\t")) // Flush returns the error
	}
	line("", "series, million", "samples a second, million", "partitions", "servers", "machines", "cores of each", "cores busy: nodes", "servers",
		"log, MB/s a server", "memory, GB", "disk, GB", "p50, ms", "p99, ms", "bottleneck")
	number := func(x float64) string { return fmt.Sprintf("%.0f", x) }
	tenth := func(x float64) string { return fmt.Sprintf("%.1f", x) }
	for i := range all {
		s := &all[i]
		line(s.Name, number(s.Series/1e6), number(s.Rate/1e6), strconv.Itoa(s.Partitions), strconv.Itoa(s.Servers), strconv.Itoa(s.Machines), number(s.Cores),
			tenth(s.NodeCores), tenth(s.ServerCores), tenth(s.LogBytes/1e6), number(s.Memory/1e9), number(s.Disk/1e9), number(s.AckP50*1e3), number(s.AckP99*1e3), s.Bottleneck)
	}
	return t.Flush()
}
