package chart

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

var nan = math.NaN()

func printed(t *testing.T, c *Chart) string {
	t.Helper()
	var b strings.Builder
	if err := Draw(c).Print(&b, NoColors); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Rows that are not known leave a gap as wide as they are, and are not joined by a line.
func TestUnknownRowsAreGaps(t *testing.T) {
	c := &Chart{
		Start: 0, End: 60, Location: time.UTC, Width: 33, Height: 8, ASCII: true, NoLegend: true,
		Lines: []Line{{Name: "a", Rows: Rows{Start: 0, Step: 10, Values: []float64{1, 1, nan, nan, 1, 1}}}},
	}
	out := printed(t, c)
	row := ""
	for line := range strings.Lines(out) {
		if strings.Contains(line, "*") {
			if row != "" {
				t.Fatalf("more than one line has marks:\n%s", out)
			}
			row = strings.TrimRight(line, "\n")
		}
	}
	_, area, _ := strings.Cut(row, "+")
	if a, ok := strings.CutPrefix(row, " "); ok && !strings.Contains(row, "+") {
		_, area, _ = strings.Cut(a, "|")
	}
	runs := strings.FieldsFunc(area, func(r rune) bool { return r != '*' })
	if len(runs) != 2 || len(runs[0]) < 8 || len(runs[1]) < 8 {
		t.Errorf("marks %q, want two runs of a third each:\n%s", area, out)
	}
}

// No size, range or value makes Draw panic or write outside.
func TestDrawAtAnySize(t *testing.T) {
	values := []float64{nan, 0, -1e300, 1e300, math.Inf(1), math.Inf(-1), 5e-324, 3}
	for width := 0; width < 90; width += 7 {
		for height := range 12 {
			for mode := range 16 {
				c := &Chart{
					Title: "a/title/that/is/long", Notes: []string{"[units]", "2023-11-14 23:13:10 – 2023-11-15 00:13:10"},
					Start: 1_700_000_000, End: 1_700_000_001, Location: time.UTC, Width: width, Height: height,
					Log: mode&1 != 0, Stack: mode&2 != 0, ASCII: mode&4 != 0, Plain: mode&8 != 0, Binary: mode&1 != 0,
				}
				for i := range 9 {
					r := Rows{Start: 1_699_999_990, Step: int64(i + 1), Values: values}
					c.Lines = append(c.Lines, Line{Name: strings.Repeat("n€世", i), Rows: r, Low: r, High: r})
				}
				for line := range strings.Lines(printed(t, c)) {
					if w := Width(strings.TrimRight(line, "\n")); w > max(width, LeastWidth) {
						t.Fatalf("%d×%d: a line has %d cells: %q", width, height, w, line)
					}
					if c.ASCII && strings.ContainsAny(line, "│─└┤┬⠒⣿") {
						t.Fatalf("a line is no ASCII: %q", line)
					}
				}
			}
		}
	}
}

func TestValueTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		binary    bool
		unit      string
		cells     int
		want      string
	}{
		{0, 100.0001, false, "", 20, "0 20 40 60 80 100"},
		{0.2, 0.93, false, "", 16, "0 0.2 0.4 0.6 0.8 1.0"},
		{5, 5, false, "", 12, "4.5 5.0 5.5"},
		{1e9, 4e9, true, "", 12, "0 1Gi 2Gi 3Gi 4Gi"},
		{1e9, 4e9, false, "B", 12, "0 1Gi 2Gi 3Gi 4Gi"},
		{-30, 30, false, "", 12, "-20 0 20"},
		{0, 0.0005, false, "s", 12, "0 200µ 400µ"},
		{0, 0.0005, false, "V", 12, "0 0.0002 0.0004"},
		{1000, 1021, false, "hPa", 12, "1000 1010 1020"},
		{0, 1e6, false, "s", 12, "0 5 d 10 d"},
		{0, 5000, false, "s", 12, "0 30 min 1 h 1 h 30 min"},
		{nan, nan, false, "", 12, "0 0.5 1.0"},
	} {
		s := newScale(&Chart{Binary: c.binary, Unit: c.unit}, c.low, c.high, 4*c.cells, c.cells)
		var labels []string
		for _, x := range s.ticks() {
			if x.at < 0 || x.at >= 4*c.cells {
				t.Errorf("%g to %g: tick %s is outside, at %d", c.low, c.high, x.label, x.at)
			}
			labels = append(labels, x.label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%g to %g: ticks %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

// Ticks of hours and days follow the clock on the wall when the clocks change.
func TestTimeTicksWhenClocksChange(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from   string
		length time.Duration
		cells  int
		want   string
	}{
		{"2026-10-24T12:00:00+02:00", 36 * time.Hour, 80, "12:00 18:00 Oct 25 06:00 12:00 18:00"},
		{"2026-03-28T12:00:00+01:00", 36 * time.Hour, 80, "12:00 18:00 Mar 29 06:00 12:00 18:00 Mar 30"},
		{"2026-03-27T00:00:00+01:00", 96 * time.Hour, 60, "Mar 27 Mar 28 Mar 29 Mar 30 Mar 31"},
		{"2026-01-01T00:00:00+01:00", 365 * 24 * time.Hour, 100, "2026 Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec 2027"},
		{"2026-01-05T10:00:00+01:00", time.Minute, 60, "10:00:00 10:00:15 10:00:30 10:00:45 10:01:00"},
	} {
		start, err := time.Parse(time.RFC3339, c.from)
		if err != nil {
			t.Fatal(err)
		}
		var labels []string
		for _, x := range timeTicks(start.Unix(), start.Add(c.length).Unix(), c.cells, berlin) {
			labels = append(labels, x.label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%s and %v: ticks %s, want %s", c.from, c.length, got, c.want)
		}
	}
}

// A dot column shows the mean of its rows by time, or their least, greatest or newest value.
func TestRowsBetween(t *testing.T) {
	r := Rows{Start: 100, Step: 10, Values: []float64{1, nan, 4, 8}}
	for _, c := range []struct {
		from, to float64
		merge    Merge
		want     float64
	}{
		{100, 110, Mean, 1},
		{110, 120, Mean, nan},
		{105, 130, Mean, 3},
		{100, 140, Least, 1},
		{100, 140, Greatest, 8},
		{0, 135, Newest, 8},
		{140, 200, Mean, nan},
		{0, 100, Mean, nan},
	} {
		got := r.between(c.from, c.to, c.merge)
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("from %g to %g: %g, want %g", c.from, c.to, got, c.want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"web1/load", 9, "web1/load"},
		{"web1/load/value", 10, "web…/value"},
		{"世界世界世界", 7, "世…世界"},
		{"abc", 0, ""},
		{"abc", 1, "a"},
	} {
		if got := Fit(c.text, c.width, "…"); got != c.want || Width(got) > c.width {
			t.Errorf("%q in %d cells: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestSpark(t *testing.T) {
	got := []string{
		Spark([]float64{1, nan, 2, 4}, 10, false),
		Spark([]float64{1, 1, 8, 1}, 2, false),
		Spark([]float64{3, 3}, 10, true),
		Spark(nil, 10, false),
	}
	if want := []string{"▁ ▃█", "▁█", "__", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
