package clusterbench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteText writes the figures for people. Ratios are of the same run.
func WriteText(w io.Writer, r *Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(cells ...any) {
		for _, c := range cells {
			_, _ = fmt.Fprint(t, c, "\t") // Flush returns the error
		}
		_, _ = fmt.Fprintln(t)
	}
	number := func(x float64, digits int) string { return fmt.Sprintf("%.*f", digits, x) }
	ratio := func(a, b float64) string {
		if a == 0 || b == 0 {
			return ""
		}
		return "×" + number(a/b, 2)
	}
	line(fmt.Sprintf("%d series, %d partitions", r.Series, r.Partitions), "one machine", "ratio", "one node", "ratio", "cluster", "at half rate")
	a, n, f, h := &r.Alone, &r.Node, &r.Full, &r.Half
	line("samples a second", number(a.Rate, 0), ratio(f.Rate, a.Rate), number(n.Rate, 0), ratio(f.Rate, n.Rate), number(f.Rate, 0), number(h.Rate, 0))
	line("CPU seconds a million, rondo", number(a.CPU, 3), ratio(f.Nodes, a.CPU), number(n.CPU, 3), ratio(f.Nodes, n.CPU), number(f.Nodes, 3), number(h.Nodes, 3))
	line("of the nats-servers", "", "", "", "", number(f.Servers, 3), number(h.Servers, 3))
	line("of the driver", "", "", number(n.Driver, 3), ratio(f.Driver, n.Driver), number(f.Driver, 3), number(h.Driver, 3))
	line("acknowledged after, p50, ms", number(a.AckP50*1e3, 1), "", number(n.AckP50*1e3, 1), "", number(f.AckP50*1e3, 1), number(h.AckP50*1e3, 1))
	line("acknowledged after, p99, ms", number(a.AckP99*1e3, 1), "", number(n.AckP99*1e3, 1), "", number(f.AckP99*1e3, 1), number(h.AckP99*1e3, 1))
	line("samples a message of the logs", "", "", "", "", number(each(f.Samples, f.Messages), 0), number(each(h.Samples, h.Messages), 0))
	line("bytes of the logs a sample", "", "", "", "", number(each(f.LogBytes, f.Samples), 2), number(each(h.LogBytes, h.Samples), 2))
	line("cores busy while nobody sends: nodes, servers", "", "", "", "", number(r.Idle.Nodes, 3), number(r.Idle.Servers, 3))
	line()
	c := &r.Catch
	line("a node that was away", "samples missed", "started after, s", "caught up after, s", "samples a second", "CPU s a million")
	line("", c.Samples, number(c.Start, 2), number(c.Seconds, 2), number(c.Rate, 0), number(c.CPU, 3))
	reads(line, "list of all series", "s", 1, r.List)
	reads(line, "fetch of a series, median", "ms", 1e3, r.Fetch)
	return t.Flush()
}

// reads writes what reading took.
func reads(line func(...any), what, unit string, scale float64, all []Read) {
	line()
	line(what, unit, "ratio", "CPU, "+unit, "ratio", "p99, "+unit)
	for i := range all {
		x := &all[i]
		if x.Seconds == 0 {
			continue
		}
		wall, cpu, p99 := "", "", ""
		if i > 0 {
			wall = fmt.Sprintf("×%.2f", x.Seconds/all[0].Seconds)
		}
		if i > 0 && all[0].CPU > 0 {
			cpu = fmt.Sprintf("×%.2f", x.CPU/all[0].CPU)
		}
		if x.P99 > 0 {
			p99 = fmt.Sprintf("%.3f", x.P99*scale)
		}
		line("through "+x.Through, fmt.Sprintf("%.3f", x.Seconds*scale), wall, fmt.Sprintf("%.3f", x.CPU*scale), cpu, p99)
	}
}

// each returns what of a falls to one of n; 0 if there are none.
func each(a, n int64) float64 {
	if n == 0 {
		return 0
	}
	return float64(a) / float64(n)
}
