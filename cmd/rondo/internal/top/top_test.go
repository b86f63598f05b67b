package top

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

func series(path string, at int64, values ...float64) *rondov1.LatestSeries {
	return &rondov1.LatestSeries{Path: path, LastUpdateUs: at * 1_000_000, Step: 10, Columns: []*rondov1.Column{{Ds: "v", Values: values}}}
}

func names(m *Model) string {
	var out []string
	for _, l := range m.Shown() {
		out = append(out, l.Name)
	}
	return strings.Join(out, " ")
}

var nan = math.NaN()

// A change is in percent of the larger row, so that a rise from zero does not divide by it, and rows
// between that are unknown do not hide it.
func TestChangeOfLines(t *testing.T) {
	for _, c := range []struct {
		rows         []float64
		value        float64
		change, rate float64
	}{
		{[]float64{1, 2}, 2, 50, 0.1},
		{[]float64{4, 2}, 2, -50, -0.2},
		{[]float64{0, 7}, 7, 100, 0.7},
		{[]float64{7, 0}, 0, -100, -0.7},
		{[]float64{0, 0}, 0, 0, 0},
		{[]float64{-1, 1}, 1, 200, 0.2},
		{[]float64{1, nan, 2}, 2, 50, 0.05},
		{[]float64{1, 2, nan}, 2, 50, 0.1},
		{[]float64{nan, 2}, 2, nan, nan},
		{[]float64{nan}, nan, nan, nan},
		{nil, nan, nan, nan},
	} {
		var m Model
		m.Put([]*rondov1.LatestSeries{series("a", 1, c.rows...)}, 4)
		m.Arrange()
		l := m.Shown()[0]
		if got, want := fmt.Sprint(l.Value, l.Change, l.Rate), fmt.Sprint(c.value, c.change, c.rate); got != want {
			t.Errorf("rows %v: value, change and rate are %s, want %s", c.rows, got, want)
		}
	}
}

// What always jumps about, grows evenly or hardly changes comes behind what is unlike itself.
func TestUnlikelyChangesComeFirst(t *testing.T) {
	var m Model
	m.Put([]*rondov1.LatestSeries{
		series("flickers", 1, 0, 0.3, 0, 0.3, 0, 0.3), series("grows", 1, 1000, 1010, 1020, 1030, 1040, 1050),
		series("jumps", 1, 0.5, 0.52, 0.49, 0.5, 0.51, 4.3), series("rests", 1, 20.1, 20.1, 20.2, 20.1, 20.1, 20.2),
		series("still", 1, 7, 7, 7, 7, 7, 7), series("new", 1, 3),
	}, 6)
	m.Arrange()
	if got := names(&m); got != "jumps flickers grows rests still new" {
		t.Errorf("sorted by change: %s", got)
	}
}

// A value has its unit, and a prefix only where the unit takes one.
func TestValuesHaveUnits(t *testing.T) {
	for _, c := range []struct {
		v           float64
		unit        string
		want, ascii string
	}{
		{1.3e9, "B", "1.21 GiB", "1.21 GiB"},
		{1013.2, "hPa", "1013.2 hPa", "1013.2 hPa"},
		{-21.5, "°C", "-21.5 °C", "-21.5 C"},
		{3.4e-4, "s", "340 µs", "340 us"},
		{nan, "B", "-", "-"},
		{4920, "s", "1 h 22 min", "1 h 22 min"},
	} {
		if got := Number(c.v, c.unit); got != c.want || keyboard.Replace(got) != c.ascii {
			t.Errorf("%v %s is %q and %q in ASCII, want %q and %q", c.v, c.unit, got, keyboard.Replace(got), c.want, c.ascii)
		}
	}
}

func TestOrderOfLines(t *testing.T) {
	var m Model
	m.Put([]*rondov1.LatestSeries{
		series("up", 100, 1, 2), series("down", 90, 9, 1), series("flat", 80, 5, 5), series("unknown", 70), series("zero", 60, 0, 50),
	}, 4)
	for _, c := range []struct {
		key     Key
		reverse bool
		filter  string
		want    string
	}{
		{ByChange, false, "", "zero down up flat unknown"},
		{ByChange, true, "", "flat up down zero unknown"},
		{ByRate, false, "", "zero down up flat unknown"},
		{ByValue, false, "", "zero flat up down unknown"},
		{ByName, false, "", "down flat unknown up zero"},
		{ByName, true, "", "zero up unknown flat down"},
		{ByAge, false, "", "zero unknown flat down up"},
		{ByName, false, "N", "down unknown"},
		{ByName, false, "n ow", "down unknown"},
		{ByName, false, "x", ""},
	} {
		m.Sort, m.Reverse, m.Filter = c.key, c.reverse, c.filter
		m.Arrange()
		if got := names(&m); got != c.want {
			t.Errorf("by %s, reversed %v, filter %q: %s, want %s", Keys[c.key], c.reverse, c.filter, got, c.want)
		}
	}
}

// Series that a pass has not met are gone; those that came while it ran are not.
func TestDroppedSeriesLeaveTheTable(t *testing.T) {
	var m Model
	m.Put([]*rondov1.LatestSeries{series("a", 1), series("b", 1)}, 4)
	m.EndPass()
	m.Put([]*rondov1.LatestSeries{series("b", 1), series("c", 1)}, 4)
	m.EndPass()
	m.Sort = ByName
	m.Arrange()
	if n, lines := m.Counts(); n != 2 || lines != 2 || names(&m) != "b c" {
		t.Errorf("%d series, %d lines: %s, want b and c", n, lines, names(&m))
	}
}

// The cursor stays with its line when the order changes, and at the top it stays at the top.
func TestCursorFollowsItsLine(t *testing.T) {
	v := &View{Model: &Model{Sort: ByValue}, Now: func() time.Time { return time.Unix(1000, 0) }}
	put := func(values ...float64) {
		var all []*rondov1.LatestSeries
		for i, x := range values {
			all = append(all, series(fmt.Sprintf("s%d", i), 1, x))
		}
		v.Model.Put(all, 4)
		v.Arrange()
		v.Draw(60, 6) // a window of three lines
	}
	put(50, 40, 30, 20, 10)
	if put(50, 40, 30, 20, 60); v.Selected().Path != "s4" {
		t.Errorf("the cursor at the top went to %s", v.Selected().Path)
	}
	v.Key("down")
	v.Key("down")
	if got := v.Selected().Path; got != "s1" {
		t.Fatalf("the cursor is at %s", got)
	}
	put(50, 5, 30, 20, 60)
	if got := v.Selected().Path; got != "s1" || v.cursor != 4 {
		t.Errorf("the cursor went to %s, line %d", got, v.cursor)
	}
	for _, l := range v.Visible() {
		if l.Path == "s1" {
			return
		}
	}
	t.Error("the cursor is outside of the window")
}

// No size makes Draw panic, and no line is wider than the screen.
func TestDrawTableAtAnySize(t *testing.T) {
	v := &View{Model: &Model{}, Now: func() time.Time { return time.Unix(1000, 0) }}
	for i := range 50 {
		v.Model.Put([]*rondov1.LatestSeries{series(strings.Repeat("世/", i)+"x\x1b", int64(i), 1, 1e300, nan, -3)}, 4)
	}
	v.Arrange()
	for width := range 150 {
		for height := range 12 {
			if g := v.Draw(width, height); g.Width != width || g.Height != height {
				t.Fatalf("the screen is %d×%d, want %d×%d", g.Width, g.Height, width, height)
			}
		}
		v.Key([]string{"down", "pgdn", "G", "?", "?", "c", "/", "x", "enter", "esc", "home"}[width%11])
	}
}

func BenchmarkArrange(b *testing.B) {
	var m Model
	for i := range 100_000 {
		m.Put([]*rondov1.LatestSeries{series(fmt.Sprintf("collectd/web%03d/interface-eth%d/if_octets", i/100, i%100), int64(i), float64(i%97), float64(i%89))}, 4)
	}
	for b.Loop() {
		m.Arrange()
	}
}
