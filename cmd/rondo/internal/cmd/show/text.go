package show

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/chart"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/internal/quantity"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
	"github.com/rondo-db/rondo/rra"
)

// print prints a series for people.
func (v *view) print() error {
	var b strings.Builder
	v.header(&b)
	v.charts(&b)
	v.table(&b)
	_, err := v.Stdout.Write([]byte(b.String()))
	return err
}

// header prints the name, the definition and the age of the series.
func (v *view) header(b *strings.Builder) {
	s, last := v.info.GetSeries(), v.info.GetLastUpdateUs()/1_000_000
	d := s.GetDefinition()
	fmt.Fprintf(b, "%s\n  updated  %s, %s\n", cli.OneLine(s.GetPath()), cli.Stamp(last, v.location), ago(v.Now(), last))
	if len(s.GetLabels()) > 0 {
		fmt.Fprintf(b, "  labels   %s\n", cli.OneLine(strings.Join(words(s.GetLabels()), " ")))
	}
	aboutPath(b, v.info.GetMetadata())
	fmt.Fprintf(b, "  sources  %s\n", strings.Join(kinds(d.GetDs()), ", "))
	fmt.Fprintf(b, "  keeps    %s\n", strings.Join(retentions(d.GetStep(), d.GetRra()), "; "))
	for _, p := range v.info.GetProblems() {
		fmt.Fprintf(b, "  %-8s %s\n           %s\n", p.GetSeverity(), cli.OneLine(p.GetText()), cli.OneLine(p.GetAdvice()))
	}
}

// ago returns how long before now a time was, as a text.
func ago(now time.Time, second int64) string {
	passed := now.Unix() - second
	if passed < 0 {
		return duration(-passed) + " from now"
	}
	return duration(passed) + " ago"
}

// duration prints seconds for people: "12 d 4 h".
func duration(seconds int64) string { return quantity.Plain(quantity.Duration(float64(seconds))) }

// kinds returns the names and kinds of data sources: "v GAUGE".
func kinds(sources []string) []string {
	var out []string
	for _, text := range sources {
		if f := strings.SplitN(text, ":", 4); len(f) > 2 {
			out = append(out, f[1]+" "+f[2])
		}
	}
	return out
}

// retentions describes archives in plain words, and lists functions with the same rows together.
func retentions(step int64, archives []string) []string {
	var functions, kept, names []string
	rows := make(map[string]string) // by function
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
	for _, name := range functions {
		if i := slices.Index(kept, rows[name]); i >= 0 {
			names[i] += " " + name
		} else {
			names, kept = append(names, name), append(kept, rows[name])
		}
	}
	for i := range kept {
		kept[i] = names[i] + " " + kept[i]
	}
	return kept
}

// charts draws each data source on a line.
func (v *view) charts(b *strings.Builder) {
	if len(v.ends) == 0 {
		b.WriteString("\nNo row is complete yet. The last readings:\n\n")
		for _, s := range v.info.GetSources() {
			fmt.Fprintf(b, "%s  %s\n", cli.OneLine(s.GetName()), cli.OneLine(s.GetLastReading()))
		}
		return
	}
	fmt.Fprintf(b, "\n%s of %s from %s to %s", v.cf, rra.FormatDuration(v.step),
		cli.Stamp(v.begin, v.location), cli.Stamp(v.ends[len(v.ends)-1], v.location))
	if v.resolution != "" && v.asked != v.step {
		fmt.Fprintf(b, " (asked for %s, which %s does not have)", rra.FormatDuration(v.asked), v.cf)
	}
	b.WriteString("\n\n")
	if !v.anyKnown() {
		fmt.Fprintf(b, "No row of this range is known; the last update is of %s.\n", cli.Stamp(v.info.GetLastUpdateUs()/1_000_000, v.location))
		return
	}
	v.scales = nil
	for i, c := range v.columns {
		unit := ""
		if s := v.info.GetSources(); i < len(s) {
			unit = s[i].GetUnit()
		}
		n := quantity.Of(unit, 0, c.GetValues()...)
		v.scales = append(v.scales, func(v float64) string { return quantity.Plain(n.Text(v)) })
	}
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	for i, c := range v.columns {
		line := chart.Line{Rows: chart.Rows{Start: v.begin, Step: v.step, Values: c.GetValues()}}
		x, n := line.Summary(v.begin, v.begin+v.step*int64(len(c.GetValues()))), v.scales[i]
		// The chart comes last: its width in bytes is not its width on the screen.
		_, _ = fmt.Fprintf(w, "%s\tmin %s\tavg %s\tmax %s\tlast %s\t%s\n", // a Builder does not fail
			c.GetDs(), n(x.Min), n(x.Avg), n(x.Max), n(x.Last), chart.Spark(c.GetValues(), chartedRows, false))
	}
	_ = w.Flush() // likewise
}

// table prints the newest rows.
func (v *view) table(b *strings.Builder) {
	if !v.anyKnown() {
		return
	}
	lines, earlier := v.lines()
	b.WriteByte('\n')
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprint(w, "TIME") // a Builder does not fail
	for _, c := range v.columns {
		_, _ = fmt.Fprintf(w, "\t%s", c.GetDs())
	}
	_, _ = fmt.Fprintln(w)
	for _, l := range lines {
		if l.rows > 1 {
			_, _ = fmt.Fprintf(w, "… %d rows are unknown, to %s\n", l.rows, cli.Stamp(v.ends[l.first+l.rows-1], v.location))
			continue
		}
		_, _ = fmt.Fprint(w, cli.Stamp(v.ends[l.first], v.location))
		for i, c := range v.columns {
			_, _ = fmt.Fprintf(w, "\t%s", v.scales[i](c.GetValues()[l.first]))
		}
		_, _ = fmt.Fprintln(w)
	}
	_ = w.Flush()
	if earlier > 0 && v.start != "" && v.showing.rows == 0 {
		fmt.Fprintf(b, "(%d earlier rows: -n %d prints all, a larger -r fewer)\n", earlier, len(v.ends))
	}
}

// A tableLine is one row, or several rows that are all unknown.
type tableLine struct{ first, rows int }

// fewUnknown is the longest run of unknown rows that is printed row by row.
const fewUnknown = 2

// lines returns the lines of the table, and how many earlier rows are left out.
func (v *view) lines() (lines []tableLine, earlier int) {
	if n := v.showing.rows; n > 0 {
		earlier = max(0, len(v.ends)-n)
	}
	for i := earlier; i < len(v.ends); {
		l := tableLine{i, 1}
		if run := v.unknownFrom(i); run > fewUnknown {
			l.rows = run
		}
		lines = append(lines, l)
		i += l.rows
	}
	most := shownRows
	if v.start != "" {
		most = chartedRows
	}
	if v.showing.rows == 0 && len(lines) > most {
		lines = lines[len(lines)-most:]
		earlier = lines[0].first
	}
	return lines, earlier
}

// anyKnown reports whether any row is known.
func (v *view) anyKnown() bool { return len(v.ends) > 0 && v.unknownFrom(0) < len(v.ends) }

// unknownFrom returns the length of the run of unknown rows that begins with the given row.
func (v *view) unknownFrom(row int) int {
	n := 0
	for row+n < len(v.ends) && !v.known(row+n) {
		n++
	}
	return n
}

// text prints a path that has a text and no numbers.
func (s *showing) text(m *typesv1.Metadata) error {
	path := m.GetPath()
	if s.format != table.Formats[0] {
		return fmt.Errorf("%s has a text and no numbers: rondo metadata %s -o %s prints it", cli.Quoted(path), cli.Quoted(path), s.format)
	}
	var b strings.Builder
	last := m.GetTimeUs() / 1_000_000
	fmt.Fprintf(&b, "%s\n  updated  %s, %s\n", cli.OneLine(path), cli.Stamp(last, s.Location()), ago(s.Now(), last))
	aboutPath(&b, m)
	b.WriteString("  keeps    the newest text, and no numbers\n")
	_, err := s.Stdout.Write([]byte(b.String()))
	return err
}

// aboutPath prints the text and the attributes of a path.
func aboutPath(b *strings.Builder, m *typesv1.Metadata) {
	if m.GetText() != "" {
		fmt.Fprintf(b, "  text     %s\n", cli.OneLine(m.GetText()))
	}
	for _, a := range m.GetAttributes() {
		fmt.Fprintf(b, "  %-8s %s\n", cli.OneLine(a.GetName()), cli.OneLine(a.GetValue()))
	}
}
