package reshape

import (
	"cmp"
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A Plan says how a series is made from others.
type Plan struct {
	Path       string
	Name       string // decides in which step seasons are smoothed
	Labels     []core.Label
	Definition *rra.Definition
	Last       rra.Time  // when the new series was last updated
	From       []*Series // give rows
	// Mapped returns, for each data source, the series and the data source that fill it. Where a
	// mapping names no series, every series that has a data source of that name fills it, in their
	// order.
	Mapped []rra.Mapping
	// GoesOn says that the new series is the old one in another shape: rows that an archive already
	// has stay, unknown ones too, and the open PDP gives a row (rondo's alter). Otherwise the
	// series is filled as rrdtool's create --source does.
	GoesOn bool
}

// Fill makes the series. An error says that the definition is not valid.
func (p *Plan) Fill() (core.Copy, error) {
	m, err := rra.Compile(p.Definition)
	if err != nil {
		return core.Copy{}, err
	}
	empty := core.Copy{Path: p.Path, Labels: p.Labels, Definition: p.Definition, State: m.NewState(p.Last), Rows: make([][]float64, len(p.Definition.Archives))}
	m.SmoothBy(empty.State.W, rra.NameHash(p.Name))
	s, err := Apart(empty)
	if err != nil {
		return core.Copy{}, err
	}
	s.State.LastUpdate = p.Last
	f := &filling{Series: s, sources: p.From, mapped: p.Mapped, goesOn: p.GoesOn}
	f.fill()
	return s.Copy()
}

// fill fills all data sources.
func (p *filling) fill() {
	for ds := range p.Definition.Sources {
		columns := p.columns(ds)
		if p.goesOn {
			p.continueSource(ds, columns)
		} else {
			p.fillSource(ds, columns)
		}
		for i := range p.Definition.Archives {
			if p.Definition.Archives[i].CF <= rra.Last {
				p.fillRows(i, ds, columns)
				p.fillCDP(i, ds, columns)
			} else {
				p.fillModel(i, ds, columns)
			}
		}
	}
}

// A filling is the work of one Plan.
type filling struct {
	*Series
	sources []*Series
	mapped  []rra.Mapping
	goesOn  bool

	// orders holds what order has returned. It is the same for all data sources of a series.
	orders map[orderOf][]int
}

type orderOf struct {
	from *Series
	asking
}

// order returns which archives of a series create asks, in their order.
func (p *filling) order(from *Series, q asking) []int {
	if known, ok := p.orders[orderOf{from, q}]; ok {
		return known
	}
	var asked []archive
	for i := range from.Definition.Archives {
		if a := &from.Definition.Archives[i]; q.takes(a.CF) {
			asked = append(asked, archive{i, a.CF, a.PDPs * from.Definition.Step, a.Rows})
		}
	}
	q.order(asked)
	out := make([]int, len(asked))
	for i, a := range asked {
		out[i] = a.index
	}
	if p.orders == nil {
		p.orders = map[orderOf][]int{}
	}
	p.orders[orderOf{from, q}] = out
	return out
}

// columns returns the columns that fill a data source, in the order in which they are asked.
func (p *filling) columns(ds int) []column {
	m := p.mapped[ds]
	var out []column
	for i, from := range p.sources {
		if m.Source != 0 && i != m.Source-1 {
			continue
		}
		if k := from.Source(m.Name); k >= 0 {
			out = append(out, column{from, k})
		}
	}
	return out
}

// noReading is the last reading of a data source that has never been read, or whose last reading
// was unknown.
const noReading = "U"

// fillSource takes over the last reading and the open PDP from a series that is in the same step
// and has a known last reading. The archives are asked in order: the first that such a series gives
// rows to takes the first series that does. If there is none, the open PDP is unknown.
func (p *filling) fillSource(ds int, columns []column) {
	x := &p.State.Sources[ds]
	*x = rra.SourceSnapshot{LastReading: noReading, Value: math.NaN(), UnknownSec: p.Last() % p.Definition.Step}
	for i := range p.Definition.Archives {
		for _, c := range columns {
			if p.continues(ds, c) && p.gives(c.from, i) && c.from.State.Sources[c.ds].LastReading != noReading {
				p.takeOver(ds, c, columns)
				return
			}
		}
	}
}

// continueSource takes over the last reading and the open PDP of the series that goes on.
func (p *filling) continueSource(ds int, columns []column) {
	for _, c := range columns {
		if p.continues(ds, c) {
			p.takeOver(ds, c, columns)
			return
		}
	}
}

// continues reports whether a data source goes on where the column has stopped.
func (p *filling) continues(ds int, c column) bool {
	return c.from.Definition.Sources[c.ds].Kind == p.Definition.Sources[ds].Kind && p.sameSlot(c.from, c.from.Definition.Step)
}

// gives reports whether a series has an archive that gives rows to archive i of p.
func (p *filling) gives(from *Series, i int) bool {
	return slices.ContainsFunc(from.Definition.Archives, func(a rra.Archive) bool {
		return a.CF == rra.Average || a.CF == p.Definition.Archives[i].CF
	})
}

// takeOver takes over the last reading of a column, and what its open PDP has gathered. If the step
// differs, the open PDP is computed from the mean of what is gathered and from the rows before it.
func (p *filling) takeOver(ds int, c column, columns []column) {
	x := &p.State.Sources[ds]
	old := c.from.State.Sources[c.ds]
	x.LastReading = old.LastReading
	if p.Definition.Step == c.from.Definition.Step {
		x.Value, x.UnknownSec = old.Value, old.UnknownSec
		return
	}
	gathered := c.from.Last() % c.from.Definition.Step
	rest := p.Last() % p.Definition.Step
	mean := math.NaN()
	if known := gathered - old.UnknownSec; known > 0 {
		mean = old.Value / float64(known)
	}
	switch {
	case rest == 0:
		x.Value, x.UnknownSec = 0, 0
	case mean == mean && rest <= gathered && old.UnknownSec == 0:
		x.Value, x.UnknownSec = mean*float64(rest), 0
	case mean == mean && rest > gathered:
		x.Value, x.UnknownSec = old.Value, old.UnknownSec
		start := p.Last() - rest
		v, covered := p.bin(rra.Average, start, start+rest-gathered, p.donors(rra.Average, rest-gathered, columns))
		x.UnknownSec += rest - gathered - covered
		if covered > 0 {
			x.Value += v * float64(covered)
		}
	}
}

// fillModel takes over an archive of the Holt-Winters family from an archive with the same CF and
// step, if that series was last updated in the same PDP.
func (p *filling) fillModel(i, ds int, columns []column) {
	a := &p.Definition.Archives[i]
	for _, c := range columns {
		d := &c.from.Definition
		if d.Step != p.Definition.Step || !p.sameSlot(c.from, d.Step) {
			continue
		}
		k := p.model(i, d)
		if k < 0 {
			continue
		}
		b := &d.Archives[k]
		p.State.Archives[i].CurRow = c.from.State.Archives[k].CurRow % a.Rows
		p.State.Archives[i].CDPs[ds] = c.from.State.Archives[k].CDPs[c.ds]
		if p.goesOn {
			p.State.Archives[i].SmoothRow = c.from.State.Archives[k].SmoothRow
		}
		to, from := len(p.Definition.Sources), len(d.Sources)
		for r := int64(1); r <= min(a.Rows, b.Rows); r++ {
			p.Rows[i][int(a.Rows-r)*to+ds] = c.from.Rows[k][int(b.Rows-r)*from+c.ds]
		}
		return
	}
}

// model returns the archive of d that archive i continues, or -1. An archive with the same
// parameters is preferred.
func (p *filling) model(i int, d *rra.Definition) int {
	a, found := &p.Definition.Archives[i], -1
	for k := range d.Archives {
		b := &d.Archives[k]
		switch {
		case b.CF != a.CF || d.Archives[b.Partner].CF != p.Definition.Archives[a.Partner].CF:
		case (a.CF == rra.Seasonal || a.CF == rra.DevSeasonal) && a.Rows != b.Rows:
		case sameModel(&p.Definition, i, d, k, 3):
			return k
		case found < 0:
			found = k
		}
	}
	return found
}

// sameModel reports whether two archives have the same parameters, and the archives that they
// depend on too, depth archives deep.
func sameModel(d *rra.Definition, i int, e *rra.Definition, k, depth int) bool {
	a, b := d.Archives[i], e.Archives[k]
	windows := a.SmoothingWindow == b.SmoothingWindow || math.IsNaN(a.SmoothingWindow) && math.IsNaN(b.SmoothingWindow)
	i, k = a.Partner, b.Partner
	a.Partner, b.Partner, a.SmoothingWindow, b.SmoothingWindow = 0, 0, 0, 0
	return windows && a == b && (depth == 0 || sameModel(d, i, e, k, depth-1))
}

// fillRows fills the ring of archive i for one data source.
func (p *filling) fillRows(i, ds int, columns []column) {
	a := &p.Definition.Archives[i]
	span := a.PDPs * p.Definition.Step
	first := p.Last() - p.Last()%span - (a.Rows-1)*span
	from := p.donors(a.CF, span, columns)
	var same []donor
	if p.goesOn {
		same = sameRows(a, span, from)
		from = append(slices.Clone(same), from...)
	}
	fillRing(p.Rows[i], len(p.Definition.Sources), ds, first, span, func(start, end int64) float64 {
		if v, ok := keptRow(same, end); ok {
			return v
		}
		return p.row(a, start, end, p.spare(from, start, end))
	})
}

// row consolidates what is known of the time from start to end into a row of a.
func (p *filling) row(a *rra.Archive, start, end int64, from []donor) float64 {
	v, covered := p.bin(a.CF, start, end, p.reaching(from, start, end))
	if float64(covered) <= a.XFF*float64(end-start) {
		return math.NaN()
	}
	return v
}

// donors returns the archives of the CF or of AVERAGE, in the order in which they are asked for
// rows of span seconds.
//
// create asks all archives of the first series before the second's, in the order of asking. alter
// asks those first whose rows need no more than consolidation: no longer than span, and of the CF
// or one PDP long.
func (p *filling) donors(cf rra.CF, span int64, columns []column) []donor {
	var out []donor
	if !p.goesOn {
		for _, c := range columns {
			for _, i := range p.order(c.from, asking{cf, span}) {
				out = append(out, c.archive(i))
			}
		}
		return out
	}
	for _, c := range columns {
		if open, ok := c.openPDP(); ok {
			out = append(out, open) // a finer step closes a part of it
		}
		for i := range c.from.Definition.Archives {
			a := &c.from.Definition.Archives[i]
			if !(asking{cf, span}).takes(a.CF) {
				continue
			}
			d := c.archive(i)
			if d.span > span || d.cf != cf && d.span != c.from.Definition.Step {
				d.rank = 1
			}
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b donor) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.span, b.span),
			compareCF(a.cf, b.cf), cmp.Compare(b.newest-b.oldest, a.newest-a.oldest))
	})
	return out
}

// reaching returns the donors whose rows cover the whole time from start to end. As in rrdtool,
// create asks no others for a row of that time.
func (p *filling) reaching(from []donor, start, end int64) []donor {
	return p.without(from, func(d donor) bool { return d.oldest > start || d.newest < end })
}

// spare returns the donors that have more rows than the time from start to end needs. As in
// rrdtool, create takes nothing for a row of an archive from a donor that it needs every row of.
func (p *filling) spare(from []donor, start, end int64) []donor {
	return p.without(from, func(d donor) bool {
		first, last := (start-d.oldest)/d.span, (end-d.oldest-1)/d.span
		return (last-first+1)*d.span == d.newest-d.oldest
	})
}

// without returns the donors that create does not refuse. alter refuses none.
func (p *filling) without(from []donor, refused func(donor) bool) []donor {
	if p.goesOn || !slices.ContainsFunc(from, refused) {
		return from
	}
	return slices.DeleteFunc(slices.Clone(from), refused)
}

// sameRows returns the donors whose rows are rows of a, with span seconds each. Donors with the
// nearest XFF come first.
func sameRows(a *rra.Archive, span int64, from []donor) []donor {
	var out []donor
	for _, d := range from {
		// an open PDP may be as long, and begin elsewhere
		if d.cf == a.CF && d.span == span && d.oldest%span == 0 {
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(x, y donor) int {
		return cmp.Compare(math.Abs(x.xff-a.XFF), math.Abs(y.xff-a.XFF))
	})
	return out
}

// keptRow returns the row that ends at end from the first donor that has it.
func keptRow(same []donor, end int64) (float64, bool) {
	for i := range same {
		if d := &same[i]; end > d.oldest && end <= d.newest {
			return d.at(end - d.span), true
		}
	}
	return 0, false
}

// fillCDP sets what archive i remembers of the row that is open and of the row before it. An
// archive with the same rows that was last updated in the same PDP gives it; otherwise it is
// computed from the known PDPs.
func (p *filling) fillCDP(i, ds int, columns []column) {
	a := &p.Definition.Archives[i]
	x := &p.State.Archives[i].CDPs[ds]
	for _, c := range columns {
		d := &c.from.Definition
		if d.Step != p.Definition.Step || !p.sameSlot(c.from, d.Step) {
			continue
		}
		same := -1 // the longest one, and the first among equals
		for k := range d.Archives {
			b := &d.Archives[k]
			if b.CF == a.CF && b.PDPs == a.PDPs && (same < 0 || b.Rows > d.Archives[same].Rows) {
				same = k
			}
		}
		if same >= 0 {
			*x = c.from.State.Archives[same].CDPs[c.ds]
			return
		}
	}
	step := p.Definition.Step
	pdps := p.pdpArchive()
	from := p.donors(rra.Average, step, columns)
	*x = consolidated(a, step, p.Last(), func(start int64) float64 { return p.row(pdps, start, start+step, from) })
}

// pdpArchive returns the archive whose rows are the PDPs that open rows are made of. As in rrdtool
// that is the longest AVERAGE archive with one PDP a row; if the series has none, an archive with
// an XFF of one half.
func (p *filling) pdpArchive() *rra.Archive {
	out := &rra.Archive{CF: rra.Average, PDPs: 1, XFF: 0.5}
	for i := range p.Definition.Archives {
		if a := &p.Definition.Archives[i]; a.CF == rra.Average && a.PDPs == 1 && a.Rows > out.Rows {
			out = a
		}
	}
	return out
}

// sameSlot reports whether two series were last updated in the same row of span seconds.
func (p *filling) sameSlot(from *Series, span int64) bool { return p.Last()/span == from.Last()/span }

// bin consolidates what donors know of the time from start to end. Each second counts once, for the
// first donor that knows it. bin returns the value, and how many seconds are known.
//
// For create it computes as rrdtool does, to the last bit: an average is a sum of shares of the
// row, even if a single row covers it, and LAST is the row that was asked for last. For alter a row
// that covers the whole time keeps its value, and LAST is the latest row.
func (p *filling) bin(cf rra.CF, start, end int64, from []donor) (float64, int64) {
	var (
		out     = math.NaN()
		newest  int64
		free    = []interval{{start, end}}
		span    = float64(end - start)
		covered int64
	)
	share := func(v float64, seconds int64) float64 {
		if p.goesOn {
			return float64(v * float64(seconds))
		}
		return float64(float64(v/span) * float64(seconds))
	}
	for i := range from {
		d := &from[i]
		if len(free) == 0 {
			break
		}
		for t := d.from(start); t < min(end, d.newest); t += d.span {
			v := d.at(t)
			if t+d.span <= start || v != v {
				continue
			}
			var seconds int64
			if free, seconds = cutOut(free, t, t+d.span); seconds == 0 {
				continue
			}
			if seconds == end-start && p.goesOn {
				return v, seconds
			}
			switch {
			case cf == rra.Average && covered == 0:
				out = share(v, seconds)
			case cf == rra.Average:
				out += share(v, seconds)
			case covered == 0:
				out = v
			case cf == rra.Min:
				out = min(out, v)
			case cf == rra.Max:
				out = max(out, v)
			case t >= newest || !p.goesOn:
				out = v
			}
			newest = max(newest, t)
			covered += seconds
		}
	}
	if cf == rra.Average && covered > 0 {
		if out /= float64(covered); !p.goesOn {
			out = float64(out * span)
		}
	}
	return out, covered
}

// An interval is the time from start to end.
type interval struct{ start, end int64 }

// cutOut removes the time from start to end from free. It returns what is left, and how many
// seconds it has removed.
func cutOut(free []interval, start, end int64) ([]interval, int64) {
	var out []interval
	var seconds int64
	for _, f := range free {
		a, b := max(f.start, start), min(f.end, end)
		if a >= b {
			out = append(out, f)
			continue
		}
		seconds += b - a
		if f.start < a {
			out = append(out, interval{f.start, a})
		}
		if b < f.end {
			out = append(out, interval{b, f.end})
		}
	}
	return out, seconds
}

// An asking is what archives are asked for: rows of a CF, of span seconds each.
type asking struct {
	cf   rra.CF
	span int64
}

// An archive is what the order of asking depends on.
type archive struct {
	index int // in its series
	cf    rra.CF
	span  int64 // seconds a row
	rows  int64
}

// takes reports whether archives of a CF are asked.
func (q asking) takes(cf rra.CF) bool { return cf == q.cf || cf == rra.Average }

// order puts the archives of one series in the order in which create asks them: first those whose
// rows are as the wanted ones, then archives of AVERAGE, finer before coarser, longer before
// shorter. Which of several equal ones is asked first shows where it lacks rows that another has,
// and so order follows rrdtool there, too: it sorts twice, first stably, and then with a quicksort,
// which is not stable. That is known from experiments with archives that each know other rows.
func (q asking) order(archives []archive) {
	slices.SortStableFunc(archives, compareRows)
	q.quicksort(archives)
}

// quicksort is Hoare's (Quicksort, 1962), with the first archive as the pivot. Archives that equal
// the pivot stay on the side on which they are. It compares n² times at most, for n archives. A
// series has rra.MaxArchives.
func (q asking) quicksort(archives []archive) {
	if len(archives) < 2 {
		return
	}
	pivot := archives[0]
	last := len(archives) - 1
	i, j := 0, last
	for {
		for i < last && q.compare(archives[i], pivot) <= 0 {
			i++
		}
		for j > i && q.compare(archives[j], pivot) >= 0 {
			j--
		}
		if i >= j {
			break
		}
		archives[i], archives[j] = archives[j], archives[i]
	}
	end := i // the last that does not come after the pivot
	if q.compare(archives[i], pivot) > 0 {
		end--
	}
	archives[0], archives[end] = archives[end], archives[0]
	q.quicksort(archives[:i])
	q.quicksort(archives[i:])
}

// compare is negative if a comes before b, and 0 if they are equal. An archive with the wanted rows
// comes before every other, even before another such archive.
func (q asking) compare(a, b archive) int {
	switch {
	case q.wants(a):
		return -1
	case q.wants(b):
		return 1
	}
	return cmp.Or(compareCF(a.cf, b.cf), compareRows(a, b))
}

// wants reports whether the rows of a are as the wanted ones.
func (q asking) wants(a archive) bool { return a.cf == q.cf && a.span == q.span }

// compareCF is negative if only a is AVERAGE.
func compareCF(a, b rra.CF) int { return cmp.Compare(min(a, rra.Min), min(b, rra.Min)) }

// compareRows is negative if the rows of a are finer than b's, or as fine and of a longer time.
func compareRows(a, b archive) int {
	return cmp.Or(cmp.Compare(a.span, b.span), cmp.Compare(b.rows, a.rows))
}
