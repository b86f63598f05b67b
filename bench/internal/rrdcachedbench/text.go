package rrdcachedbench

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteJSON writes the figures as one array.
func WriteJSON(w io.Writer, ms []Measured) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(ms)
}

// WriteText writes the figures for people, with how they compare. What was not measured is a dash.
func WriteText(w io.Writer, ms []Measured) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name string, text func(*Measured) string, ratio func(a, b *Measured) float64) {
		_, _ = fmt.Fprint(t, name) // Flush returns the error
		for i := range ms {
			_, _ = fmt.Fprintf(t, "\t%s", text(&ms[i])) // as above
		}
		if len(ms) == 2 && ratio != nil {
			_, _ = fmt.Fprintf(t, "\t%.4g", ratio(&ms[0], &ms[1])) // as above
		}
		_, _ = fmt.Fprintln(t) // as above
	}
	row("", func(m *Measured) string { return m.Name }, nil)
	figure := func(name, format string, value func(*Measured) float64) {
		row(name, func(m *Measured) string {
			if value(m) == 0 {
				return "-"
			}
			return fmt.Sprintf(format, value(m))
		}, func(a, b *Measured) float64 { return value(a) / value(b) })
	}
	figure("series created a second", "%.0f", func(m *Measured) float64 { return m.Create })
	figure("  CPU seconds a million", "%.1f", func(m *Measured) float64 { return m.CreateCPU })
	row("updates in BATCHes", func(m *Measured) string { return fmt.Sprint(m.Updates) }, nil)
	figure("  acknowledged a second", "%.0f", func(m *Measured) float64 { return m.Enqueue })
	figure("  durable a second", "%.0f", func(m *Measured) float64 { return m.Durable })
	figure("  CPU seconds a million", "%.3f", func(m *Measured) float64 { return m.CPUUpdates })
	figure("  and with the server's end", "%.3f", func(m *Measured) float64 { return m.CPU })
	row("  and the driver's CPU seconds", func(m *Measured) string { return fmt.Sprintf("%.3f", m.DriverCPU) }, nil)
	figure("one value a flush, a second", "%.0f", func(m *Measured) float64 { return m.Single })
	figure("  CPU seconds a million", "%.3f", func(m *Measured) float64 { return m.SingleCPU })
	figure("pipelined, each answered, a second", "%.0f", func(m *Measured) float64 { return m.Pipelined })
	figure("FETCH of one series, us", "%.1f", func(m *Measured) float64 { return m.Fetch })
	row("FETCH of many series", func(m *Measured) string { return fmt.Sprintf("%d, %d rows each", m.FetchSeries, m.FetchRows) }, nil)
	figure("  at once, ms", "%.2f", func(m *Measured) float64 { return m.FetchMany })
	figure("  with a value pending, ms", "%.2f", func(m *Measured) float64 { return m.FetchPending })
	figure("  the server's CPU, ms", "%.1f", func(m *Measured) float64 { return m.FetchCPU })
	figure("peak memory, MB", "%.1f", func(m *Measured) float64 { return float64(m.PeakMemory) / 1e6 })
	row("kill -9", func(m *Measured) string { return fmt.Sprintf("%d times", m.Kills) }, nil)
	row("  acknowledged updates lost", func(m *Measured) string {
		return fmt.Sprintf("%d of %d, by %d", m.Lost, m.Acknowledged, m.LossyKills)
	}, nil)
	return t.Flush()
}
