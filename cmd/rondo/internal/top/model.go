package top

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// A Line is a data source with its newest value.
type Line struct {
	Path, DS string
	Name     string // of the series, with the data source if it has several
	Value    float64
	// Change is the difference to the known row before, in percent of the larger of the two without
	// their signs. NaN: there is no row before.
	Change float64
	Rate   float64 // the same difference, in units a second
	// Score is how far the newest row lies from the mean of the rows before, in their spread. A
	// spread is at least a part of the size, so that what hardly changes does not matter.
	Score  float64
	Unit   string // of Value; empty: it is not known
	LastUS int64  // last update, in microseconds since 1970
	Recent []float64

	lower string // Name in lower case
	pass  int    // the last pass that has met it
	asked int    // rows that were asked for at most
}

// A Key is what lines are sorted by.
type Key int

// What lines are sorted by.
const (
	ByChange Key = iota
	ByRate
	ByValue
	ByName
	ByAge
)

// Keys are the names of the keys, by key.
var Keys = []string{ByChange: "change", ByRate: "rate", ByValue: "value", ByName: "name", ByAge: "age"}

// A Model is all lines, and which of them are shown in which order. The zero Model is empty.
type Model struct {
	series map[string][]*Line
	lines  int
	pass   int

	named   []*Line // all lines, sorted by name
	changed bool    // lines came or went since
	places  []place // of the lines shown
	shown   []*Line

	Sort    Key
	Reverse bool
	Filter  string // words in any case; each must be a part of the name
}

// Put takes the newest rows of series. rows is how many were asked for.
func (m *Model) Put(series []*rondov1.LatestSeries, rows int) {
	if m.series == nil {
		m.series = make(map[string][]*Line)
	}
	for _, s := range series {
		lines := m.series[s.GetPath()]
		columns := s.GetColumns()
		if !sameSources(lines, columns) {
			m.lines += len(columns) - len(lines)
			lines = make([]*Line, len(columns))
			for i, c := range columns {
				lines[i] = newLine(s.GetPath(), c.GetDs(), len(columns) > 1)
			}
			m.series[s.GetPath()], m.changed = lines, true
		}
		for i, c := range columns {
			lines[i].put(c.GetValues(), s.GetStep())
			lines[i].Unit = c.GetUnit()
			lines[i].LastUS, lines[i].pass, lines[i].asked = s.GetLastUpdateUs(), m.pass, max(rows, lines[i].asked)
		}
	}
}

func sameSources(lines []*Line, columns []*rondov1.Column) bool {
	return slices.EqualFunc(lines, columns, func(l *Line, c *rondov1.Column) bool { return l.DS == c.GetDs() })
}

func newLine(path, ds string, several bool) *Line {
	l := &Line{Path: path, DS: ds, Name: text.Escape(path)}
	if several {
		l.Name = text.Escape(path + ":" + ds)
	}
	l.lower = strings.ToLower(l.Name)
	return l
}

// put takes the newest rows of a line, oldest first.
func (l *Line) put(values []float64, step int64) {
	l.Value, l.Change, l.Rate, l.Score = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	if len(values) >= len(l.Recent) {
		l.Recent = values
	}
	newest, n, sum, squares := -1, 0.0, 0.0, 0.0
	for i, v := range slices.Backward(values) {
		switch {
		case math.IsNaN(v):
		case newest < 0:
			newest, l.Value = i, v
		default:
			d := l.Value - v
			if n == 0 {
				l.Rate = d / float64(step*int64(newest-i))
				if l.Change = 0; d != 0 {
					l.Change = 100 * d / math.Max(math.Abs(v), math.Abs(l.Value))
				}
			}
			n, sum, squares = n+1, sum+d, squares+d*d
		}
	}
	if d := sum / n; n > 0 {
		spread := math.Sqrt(math.Max(0, squares/n-d*d))
		if l.Score = 0; d != 0 {
			l.Score = math.Abs(d) / (spread + leastSpread*math.Max(math.Abs(l.Value), math.Abs(l.Value-d)))
		}
	}
}

// leastSpread is the least spread that counts, as a part of the size of values.
const leastSpread = 0.05

// EndPass says that all series have been read. Lines that were not among them are dropped: their
// series are gone.
func (m *Model) EndPass() {
	for path, lines := range m.series {
		if len(lines) == 0 || lines[0].pass < m.pass {
			m.lines -= len(lines)
			delete(m.series, path)
			m.changed = true
		}
	}
	m.pass++
}

// Passes returns how many times all series have been read.
func (m *Model) Passes() int { return m.pass }

// Counts returns the number of series and of lines.
func (m *Model) Counts() (series, lines int) { return len(m.series), m.lines }

// Shown returns the lines that the filter lets through, sorted, as of the last Arrange.
func (m *Model) Shown() []*Line { return m.shown }

// Arrange filters and sorts the lines again. It compares numbers only: names are sorted when lines
// come or go.
func (m *Model) Arrange() {
	m.rank()
	words := strings.Fields(strings.ToLower(m.Filter))
	m.places = m.places[:0]
next:
	for i, l := range m.named {
		for _, w := range words {
			if !strings.Contains(l.lower, w) {
				continue next
			}
		}
		m.places = append(m.places, m.place(l, i))
	}
	slices.SortFunc(m.places, comparePlaces)
	m.shown = m.shown[:0]
	for i := range m.places {
		m.shown = append(m.shown, m.named[m.places[i].name])
	}
	if m.Reverse { // what is unknown stays last
		known := len(m.places)
		for known > 0 && m.places[known-1].unknown {
			known--
		}
		slices.Reverse(m.shown[:known])
	}
}

// rank sorts all lines by name, if lines came or went.
func (m *Model) rank() {
	if len(m.named) == m.lines && !m.changed {
		return
	}
	m.changed, m.named = false, m.named[:0]
	for _, lines := range m.series {
		m.named = append(m.named, lines...)
	}
	slices.SortFunc(m.named, func(a, b *Line) int {
		return cmp.Or(strings.Compare(a.lower, b.lower), strings.Compare(a.Name, b.Name))
	})
}

// A place is what a line is sorted by.
type place struct {
	unknown bool
	key     float64 // the greatest comes first
	tie     float64 // likewise, where keys are equal
	name    int     // index of the line among the names
}

func (m *Model) place(l *Line, name int) place {
	p := place{name: name}
	switch m.Sort {
	case ByChange:
		p.key, p.tie = l.Score, math.Abs(l.Rate)
	case ByRate:
		p.key = math.Abs(l.Rate)
	case ByValue:
		p.key = l.Value
	case ByAge:
		p.key = -float64(l.LastUS)
	}
	if math.IsNaN(p.key) {
		p.unknown, p.key, p.tie = true, 0, 0
	}
	return p
}

// comparePlaces orders lines: the greatest first, names from a to z, what is unknown last.
func comparePlaces(a, b place) int {
	switch {
	case a.unknown != b.unknown:
		if a.unknown {
			return 1
		}
		return -1
	case a.key != b.key:
		return cmp.Compare(b.key, a.key)
	case a.tie != b.tie:
		return cmp.Compare(b.tie, a.tie)
	}
	return cmp.Compare(a.name, b.name)
}
