package rrdtoolbench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WritePipe writes the figures of pipe mode for people, and how they compare with rrdtool's.
func WritePipe(w io.Writer, ms []PipeCase) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	// Flush returns the error
	_, _ = fmt.Fprintln(t, "series\tprogram\tupdates a second\t\tCPU s a million\t\tone by one, a second\t\tCPU s a million\t")
	var base *PipeCase
	for i := range ms {
		m := &ms[i]
		if m.Name == "rrdtool" {
			base = m
		}
		ratio := func(value func(*PipeCase) float64) string {
			if base == nil || base == m || base.Series != m.Series || value(base) == 0 {
				return ""
			}
			return fmt.Sprintf("×%.3g", value(m)/value(base))
		}
		// as above
		_, _ = fmt.Fprintf(t, "%d\t%s\t%.0f\t%s\t%.2f\t%s\t%.0f\t%s\t%.1f\t%s\n", m.Series, m.Name,
			m.Pipelined, ratio(func(m *PipeCase) float64 { return m.Pipelined }), m.PipelinedCPU, ratio(func(m *PipeCase) float64 { return m.PipelinedCPU }),
			m.Waiting, ratio(func(m *PipeCase) float64 { return m.Waiting }), m.WaitingCPU, ratio(func(m *PipeCase) float64 { return m.WaitingCPU }))
	}
	return t.Flush()
}

// WriteOneShot writes the figures of single commands for people.
func WriteOneShot(w io.Writer, ms []OneShotCase) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	// Flush returns the error
	_, _ = fmt.Fprintln(t, "series\tprogram\tcommand\tmedian, ms\tp99, ms\tCPU, ms")
	for _, m := range ms {
		series := fmt.Sprint(m.Series)
		if m.Series == 0 {
			series = "–"
		}
		// as above
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%.1f\t%.1f\t%.1f\n", series, m.Name, m.Command, m.Median, m.High, m.CPU)
	}
	return t.Flush()
}

// WriteGraph writes the figures of graphs for people.
func WriteGraph(w io.Writer, ms []GraphCase) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	// Flush returns the error
	_, _ = fmt.Fprintln(t, "graph\tformat\tprogram\tCPU ms a picture\tof rrdtool's\tbytes")
	for _, m := range ms {
		ratio := ""
		if m.Ratio != 0 && m.Name != rrdtoolName(m.Running) {
			ratio = fmt.Sprintf("×%.2f", m.Ratio)
		}
		// as above
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%.1f\t%s\t%d\n", m.Graph, m.Format, m.Name, m.CPU, ratio, m.Bytes)
	}
	return t.Flush()
}
