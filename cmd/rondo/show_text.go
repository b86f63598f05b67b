package main

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rondo-db/rondo/rra"
)

// print prints a series for people.
func (v *view) print() error {
	var b strings.Builder
	v.header(&b)
	v.charts(&b)
	v.table(&b)
	_, err := v.stdout.Write([]byte(b.String()))
	return err
}

// header tells what the series is.
func (v *view) header(b *strings.Builder) {
	s := v.info.GetSeries()
	d := s.GetDefinition()
	last := v.info.GetLastUpdateUs() / 1_000_000
	fmt.Fprintf(b, "%s\n", oneLine(s.GetPath()))
	fmt.Fprintf(b, "  updated  %s, %s\n", stamp(last, v.location), ago(v.now(), last))
	if len(s.GetLabels()) > 0 {
		var labels []string
		for _, l := range s.GetLabels() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		fmt.Fprintf(b, "  labels   %s\n", oneLine(strings.Join(labels, " ")))
	}
	if m := v.info.GetMetadata(); m != nil {
		if m.GetText() != "" {
			fmt.Fprintf(b, "  text     %s\n", oneLine(m.GetText()))
		}
		for _, a := range m.GetAttributes() {
			fmt.Fprintf(b, "  %-8s %s\n", oneLine(a.GetName()), oneLine(a.GetValue()))
		}
	}
	fmt.Fprintf(b, "  sources  %s\n", strings.Join(kinds(d.GetDs()), ", "))
	fmt.Fprintf(b, "  keeps    %s\n", strings.Join(retentions(d.GetStep(), d.GetRra()), "; "))
}

// ago tells how long before now a second was.
func ago(now time.Time, second int64) string {
	passed := now.Unix() - second
	if passed < 0 {
		return rra.FormatDuration(-passed) + " from now"
	}
	return rra.FormatDuration(passed) + " ago"
}

// kinds names data sources and what they are: v GAUGE.
func kinds(sources []string) []string {
	var out []string
	for _, text := range sources {
		if f := strings.SplitN(text, ":", 4); len(f) > 2 {
			out = append(out, f[1]+" "+f[2])
		}
	}
	return out
}

// retentions tells archives in plain words: the functions that keep the same rows together.
func retentions(step int64, archives []string) []string {
	var functions, kept []string
	rows := make(map[string]string) // of a function
	for _, text := range archives {
		a, err := rra.ParseArchive(text, step)
		if err != nil {
			continue // Definition has no such archive
		}
		name := a.CF.String()
		if rows[name] == "" {
			functions = append(functions, name)
			rows[name] = a.Retention(step)
		} else {
			rows[name] += ", " + a.Retention(step)
		}
	}
	for i, name := range functions {
		if rows[name] == "" {
			continue // told with an earlier one
		}
		var names strings.Builder
		names.WriteString(name)
		for _, other := range functions[i+1:] {
			if rows[other] == rows[name] {
				names.WriteString(" " + other)
				rows[other] = ""
			}
		}
		kept = append(kept, names.String()+" "+rows[name])
	}
	return kept
}

// bars are the parts of a chart, from the least to the greatest value.
var bars = []rune("▁▂▃▄▅▆▇█")

// charts draws each data source on a line.
func (v *view) charts(b *strings.Builder) {
	if len(v.ends) == 0 {
		b.WriteString("\nNo row is complete yet. The last readings:\n\n")
		for _, s := range v.info.GetSources() {
			fmt.Fprintf(b, "%s  %s\n", oneLine(s.GetName()), oneLine(s.GetLastReading()))
		}
		return
	}
	fmt.Fprintf(b, "\n%s of %s from %s to %s\n\n", v.cf, rra.FormatDuration(v.step),
		stamp(v.ends[0]-v.step, v.location), stamp(v.ends[len(v.ends)-1], v.location))
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	for _, c := range v.columns {
		x := spread(c.GetValues())
		// The chart comes last: its width in bytes is not its width on the screen.
		_, _ = fmt.Fprintf(w, "%s\tmin %s\tavg %s\tmax %s\tlast %s\t%s\n", // a Builder takes all
			c.GetDs(), human(x.least), human(x.mean), human(x.greatest), human(x.last), chart(c.GetValues(), x))
	}
	_ = w.Flush() // likewise
}

// A spreadOf says in which bounds values lie.
type spreadOf struct{ least, mean, greatest, last float64 }

// spread returns the bounds of the values that are known; NaN where none is.
func spread(values []float64) spreadOf {
	x := spreadOf{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	sum, n := 0.0, 0
	for _, v := range values {
		if math.IsNaN(v) {
			continue
		}
		if n == 0 || v < x.least {
			x.least = v
		}
		if n == 0 || v > x.greatest {
			x.greatest = v
		}
		sum, n, x.last = sum+v, n+1, v
	}
	if n > 0 {
		x.mean = sum / float64(n)
	}
	return x
}

// chart draws values as bars, a column each; more than chartedRows share columns, which show the
// greatest of theirs. Unknown ones leave a gap.
func chart(values []float64, x spreadOf) string {
	width := min(len(values), chartedRows)
	line := make([]rune, width)
	for i := range line {
		top := math.NaN()
		for _, v := range values[i*len(values)/width : (i+1)*len(values)/width] {
			if math.IsNaN(top) || v > top {
				top = v
			}
		}
		switch part := (top - x.least) / (x.greatest - x.least); {
		case math.IsNaN(top):
			line[i] = ' '
		case math.IsNaN(part): // all are equal, or infinite
			line[i] = bars[0]
		default:
			line[i] = bars[min(int(part*float64(len(bars))), len(bars)-1)]
		}
	}
	return string(line)
}

// table prints the newest rows.
func (v *view) table(b *strings.Builder) {
	n := v.showing.rows
	if n <= 0 {
		n = shownRows
		if v.start != "" {
			n = len(v.ends)
		}
	}
	if len(v.ends) == 0 {
		return
	}
	b.WriteByte('\n')
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprint(w, "TIME") // a Builder takes all
	for _, c := range v.columns {
		_, _ = fmt.Fprintf(w, "\t%s", c.GetDs())
	}
	_, _ = fmt.Fprintln(w)
	for i := max(0, len(v.ends)-n); i < len(v.ends); i++ {
		_, _ = fmt.Fprint(w, stamp(v.ends[i], v.location))
		for _, c := range v.columns {
			_, _ = fmt.Fprintf(w, "\t%s", human(c.GetValues()[i]))
		}
		_, _ = fmt.Fprintln(w)
	}
	_ = w.Flush()
}

// human prints a value in at most six digits, large and small ones with a prefix of 1,000 (k, M, G, …).
func human(v float64) string {
	size := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return "-"
	case math.IsInf(v, 0) || size == 0 || size >= 0.001 && size < 100_000:
		return fmt.Sprintf("%.6g", v)
	}
	prefix := int(math.Floor(math.Log10(size) / 3))
	if prefix < -4 || prefix > 6 {
		return fmt.Sprintf("%.4g", v)
	}
	const names = "pnµm kMGTPE"
	return fmt.Sprintf("%.4g %c", v/math.Pow(1000, float64(prefix)), []rune(names)[prefix+4])
}
