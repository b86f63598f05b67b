package reshape

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rpn"
)

// MaxRows is the largest number of rows that an archive can have, in rrdtool's files and in rondo.
const MaxRows = math.MaxInt32

// A Series is a series taken apart. Its fields may be changed as long as they go on to fit each
// other.
type Series struct {
	Definition rra.Definition
	State      *rra.Snapshot
	// Rows holds the whole ring of each archive, oldest row first. A row is one value for each data
	// source.
	Rows [][]float64
	// Name decides in which step the seasons of archives that are added are smoothed.
	Name string
	// Origin is the copy that was taken apart. Copy takes path and labels from it.
	Origin core.Copy
}

// Apart takes a copy of a series apart. Changes of the parts leave the copy as it is.
func Apart(c core.Copy) (*Series, error) {
	m, err := rra.Compile(c.Definition)
	if err != nil {
		return nil, err
	}
	s := &Series{Origin: c, Definition: *c.Definition, State: m.Snapshot(&c.State), Name: c.Path}
	s.Definition.Sources = slices.Clone(s.Definition.Sources)
	s.Definition.Archives = slices.Clone(s.Definition.Archives)
	for i := range s.Definition.Archives {
		size := int(s.Definition.Archives[i].Rows) * len(s.Definition.Sources)
		rows := s.State.Archives[i].Rows
		if rows == nil {
			kept := c.Rows[i]
			rows = append(unknown(size-len(kept)), kept...)
		}
		s.Rows = append(s.Rows, rows)
	}
	return s, nil
}

func unknown(n int) []float64 {
	return slices.Repeat([]float64{math.NaN()}, n)
}

// Copy puts the parts together. The copy shares memory with s. An error says that the parts do not
// fit each other.
func (s *Series) Copy() (core.Copy, error) {
	if err := s.Definition.Validate(); err != nil {
		return core.Copy{}, err
	}
	m, err := rra.Compile(&s.Definition)
	if err != nil {
		return core.Copy{}, err
	}
	for i := range s.Rows {
		s.State.Archives[i].Rows = s.Rows[i]
	}
	c := s.Origin
	c.Definition, c.Rows = &s.Definition, s.Rows
	c.State, err = m.Import(s.State)
	return c, err
}

// fresh returns the state of a series that has the definition of s and has never been updated.
func (s *Series) fresh() (*rra.Snapshot, error) {
	m, err := rra.Compile(&s.Definition)
	if err != nil {
		return nil, err
	}
	state := m.NewState(s.State.LastUpdate)
	m.SmoothBy(state.W, rra.NameHash(s.Name))
	return m.Snapshot(&state), nil
}

// Last returns the second of the last update.
func (s *Series) Last() int64 { return s.State.LastUpdate.Unix() }

// Source returns the index of the data source with this name, or -1.
func (s *Series) Source(name string) int {
	return slices.IndexFunc(s.Definition.Sources, func(d rra.DataSource) bool { return d.Name == name })
}

// Archive returns the index of the first archive with this CF, or -1.
func (s *Series) Archive(cf rra.CF) int {
	return slices.IndexFunc(s.Definition.Archives, func(a rra.Archive) bool { return a.CF == cf })
}

// Forget makes the Holt-Winters models of a data source begin anew, as if nothing had been learnt.
func (s *Series) Forget(ds int) {
	nan := math.NaN()
	for i := range s.Definition.Archives {
		c := &s.State.Archives[i].CDPs[ds]
		switch s.Definition.Archives[i].CF {
		case rra.HWPredict, rra.MHWPredict:
			c.Intercept, c.LastIntercept, c.Slope, c.LastSlope = nan, nan, nan, nan
			c.NullCount, c.LastNullCount = 1, 1
		case rra.Seasonal, rra.DevSeasonal:
			c.Seasonal, c.LastSeasonal = nan, nan
			for k := ds; k < len(s.Rows[i]); k += len(s.Definition.Sources) {
				s.Rows[i][k] = nan
			}
		case rra.Failures:
			c.History = ""
		}
	}
}

// Rewind puts the last row of every archive at the end of its ring, where rrdtool's tune puts it.
func (s *Series) Rewind() {
	for i := range s.State.Archives {
		s.State.Archives[i].CurRow = s.Definition.Archives[i].Rows - 1
	}
}

// Rename gives data source i another name, in the expressions of the other data sources too.
func (s *Series) Rename(i int, name string) error {
	sources := s.Definition.Sources
	old := rra.SourceNames(sources)
	if j := s.Source(name); j >= 0 && j != i {
		return fmt.Errorf("there is a data source '%s' already", name)
	}
	for j := i + 1; j < len(sources); j++ {
		d := &sources[j]
		if d.Kind != rra.Compute {
			continue
		}
		program, err := rpn.Compile(d.Expr, old[:j])
		if err != nil {
			return err
		}
		words := strings.Split(d.Expr, ",")
		for k, w := range program.Words() {
			switch {
			case w.Kind == rpn.Variable && w.Variable == i:
				words[k] = name
			case w.Kind == rpn.Previous && w.Variable == i:
				words[k] = "PREV(" + name + ")"
			}
		}
		d.Expr = strings.Join(words, ",")
		names := slices.Clone(old[:j])
		names[i] = name
		if again, err := rpn.Compile(d.Expr, names); err != nil || !again.Uses(i) && program.Uses(i) {
			return fmt.Errorf("'%s' means something else in the expression of '%s'", name, d.Name)
		}
	}
	sources[i].Name = name
	return nil
}

// DropSources removes the data sources whose index is in drop.
func (s *Series) DropSources(drop map[int]bool) error {
	d := &s.Definition
	if len(drop) == len(d.Sources) {
		return errors.New("a series needs a data source")
	}
	names := rra.SourceNames(d.Sources)
	for j := range d.Sources {
		if d.Sources[j].Kind != rra.Compute || drop[j] {
			continue
		}
		program, err := rpn.Compile(d.Sources[j].Expr, names[:j])
		if err != nil {
			return err
		}
		for i := range drop {
			if i < j && program.Uses(i) {
				return fmt.Errorf("data source '%s' is needed by '%s'", names[i], names[j])
			}
		}
	}
	n := len(d.Sources)
	for i := range s.Rows {
		s.Rows[i] = without(s.Rows[i], n, drop)
		s.State.Archives[i].CDPs = without(s.State.Archives[i].CDPs, n, drop)
	}
	s.State.Sources = without(s.State.Sources, n, drop)
	d.Sources = without(d.Sources, n, drop)
	return nil
}

// without takes values as rows of n and removes the columns that are in drop.
func without[T any](values []T, n int, drop map[int]bool) []T {
	var out []T
	for i := range values {
		if !drop[i%n] {
			out = append(out, values[i])
		}
	}
	return out
}

// AddSources appends data sources. All their rows are unknown.
func (s *Series) AddSources(sources []rra.DataSource) error {
	if len(sources) == 0 {
		return nil
	}
	before := len(s.Definition.Sources)
	s.Definition.Sources = append(s.Definition.Sources, sources...)
	fresh, err := s.fresh()
	if err != nil {
		return err
	}
	for i := before; i < len(s.Definition.Sources); i++ {
		fresh.Sources[i].Value = 0 // rrdtool begins with an empty sum
		s.State.Sources = append(s.State.Sources, fresh.Sources[i])
	}
	for i := range s.Rows {
		s.State.Archives[i].CDPs = append(s.State.Archives[i].CDPs, fresh.Archives[i].CDPs[before:]...)
		var rows []float64
		for old := range slices.Chunk(s.Rows[i], before) {
			rows = append(append(rows, old...), unknown(len(sources))...)
		}
		s.Rows[i] = rows
	}
	return nil
}

// DropArchives removes the archives whose index is in drop. An archive that another one depends on
// can only be removed together with that one.
func (s *Series) DropArchives(drop map[int]bool) error {
	archives, err := DropArchives(s.Definition.Archives, drop)
	if err != nil {
		return err
	}
	n := len(s.Definition.Archives)
	s.Rows = without(s.Rows, n, drop)
	s.State.Archives = without(s.State.Archives, n, drop)
	s.Definition.Archives = archives
	return nil
}

// DropArchives returns archives without those whose index is in drop, as Series.DropArchives does.
// Partners are numbered anew in the result.
func DropArchives(archives []rra.Archive, drop map[int]bool) ([]rra.Archive, error) {
	moved := make([]int, len(archives)) // the new index of each archive
	next := 0
	for i := range moved {
		moved[i] = next
		if !drop[i] {
			next++
		}
	}
	if next == 0 {
		return nil, errors.New("a series needs an archive")
	}
	var out []rra.Archive
	for i, a := range archives {
		if drop[i] {
			continue
		}
		if a.CF > rra.Last {
			if drop[a.Partner] {
				return nil, fmt.Errorf("archive %d is needed by archive %d", a.Partner, i)
			}
			a.Partner = moved[a.Partner]
		}
		out = append(out, a)
	}
	return out, nil
}

// AddArchives appends archives and fills them from donors.
func (s *Series) AddArchives(archives []rra.Archive, from *Donors) error {
	if len(archives) == 0 {
		return nil
	}
	before := len(s.Definition.Archives)
	s.Definition.Archives = append(s.Definition.Archives, archives...)
	fresh, err := s.fresh()
	if err != nil {
		return err
	}
	for i := before; i < len(s.Definition.Archives); i++ {
		a := &s.Definition.Archives[i]
		x := &fresh.Archives[i]
		rows := x.Rows
		if rows == nil {
			rows = from.rows(a, a.Rows, 0)
		}
		if a.CF <= rra.Last {
			from.fillCDPs(a, rows, x.CDPs)
		}
		s.Rows = append(s.Rows, rows)
		s.State.Archives = append(s.State.Archives, *x)
	}
	return nil
}

// Resize gives archive i another number of rows. The oldest rows go, or older ones come from
// donors; nil donors give unknown rows.
func (s *Series) Resize(i int, rows int64, from *Donors) error {
	a := &s.Definition.Archives[i]
	if rows < 1 || rows > MaxRows {
		return fmt.Errorf("archive %d cannot have %d rows", i, rows)
	}
	n := int64(len(s.Definition.Sources))
	switch more := rows - a.Rows; {
	case more < 0:
		s.Rows[i] = s.Rows[i][-more*n:]
	case more > 0 && from == nil:
		s.Rows[i] = append(unknown(int(more*n)), s.Rows[i]...)
	case more > 0:
		s.Rows[i] = append(from.rows(a, more, a.Rows), s.Rows[i]...)
	}
	a.Rows = rows
	return nil
}

// Refine sets a step that divides the present one. The open PDP and the open rows keep their means.
func (s *Series) Refine(step int64) {
	n := s.Definition.Step / step
	old := s.Last() - s.Last()%s.Definition.Step // when the open PDP began
	closed := (s.Last() - old) / step            // PDPs of the new step that have ended since
	s.Definition.Step = step
	means := make([]float64, len(s.State.Sources))
	for i := range s.State.Sources {
		x := &s.State.Sources[i]
		means[i] = math.NaN()
		elapsed := s.Last() - old
		if known := elapsed - x.UnknownSec; known > 0 && x.UnknownSec <= elapsed/2 {
			means[i] = x.Value / float64(known)
		}
		if closed == 0 {
			continue
		}
		rest := s.Last() % step
		x.UnknownSec = 0
		if x.Value = means[i] * float64(rest); math.IsNaN(means[i]) {
			x.UnknownSec = rest
		}
	}
	for i := range s.Definition.Archives {
		a := &s.Definition.Archives[i]
		if a.CF > rra.Last {
			continue
		}
		single := a.PDPs == 1
		a.PDPs *= n
		if a.Own = a.Own && a.PDPs == 1; n == 1 {
			continue
		}
		for ds := range s.State.Archives[i].CDPs {
			c := &s.State.Archives[i].CDPs[ds]
			if single {
				c.Value, c.Unknown = emptyValue(a.CF), 0
			}
			if c.Unknown *= n; a.CF == rra.Average {
				c.Value *= float64(n)
			}
			for range closed {
				c.Value, c.Unknown = addPDP(a.CF, c.Value, c.Unknown, means[ds])
			}
		}
	}
}

// Donors are the archives of a series that give rows to other archives of the same series, by the
// rules of rrdtool's tune:
//
//   - Archives of the same CF and of AVERAGE are asked, finer ones first, then longer ones.
//     Archives that reach back to the beginning of a row come before all others.
//   - The first archive that knows a value gives the row. An average counts every overlapping row
//     once, however much of it overlaps.
type Donors struct {
	step, last int64
	columns    [][]donor // for each data source, in the order in which they are asked
}

// Donors returns the archives as they are now. Later changes of s do not change what they give.
func (s *Series) Donors() *Donors {
	f := &Donors{step: s.Definition.Step, last: s.Last()}
	for ds := range s.Definition.Sources {
		var donors []donor
		for i := range s.Definition.Archives {
			if s.Definition.Archives[i].CF <= rra.Last {
				donors = append(donors, column{s, ds}.archive(i))
			}
		}
		slices.SortStableFunc(donors, func(a, b donor) int {
			return cmp.Or(cmp.Compare(a.span, b.span), len(b.rows)-len(a.rows))
		})
		f.columns = append(f.columns, donors)
	}
	return f
}

// rows returns count rows of a. The last of them is skip rows before the last row of a.
func (f *Donors) rows(a *rra.Archive, count, skip int64) []float64 {
	out := unknown(int(count) * len(f.columns))
	if a.CF > rra.Last {
		return out
	}
	span := a.PDPs * f.step
	first := f.last - f.last%span - (skip+count-1)*span
	for ds := range f.columns {
		fillRing(out, len(f.columns), ds, first, span, func(start, end int64) float64 { return f.row(a.CF, start, end, ds) })
	}
	return out
}

// row returns the value of a data source for the time from start to end.
func (f *Donors) row(cf rra.CF, start, end int64, ds int) float64 {
	for _, whole := range []bool{true, false} {
		for i := range f.columns[ds] {
			d := &f.columns[ds][i]
			if d.cf != cf && d.cf != rra.Average || (d.oldest <= start) != whole {
				continue
			}
			if v := d.fold(cf, start, end); v == v {
				return v
			}
		}
	}
	return math.NaN()
}

// fold consolidates the known rows that overlap the time from start to end.
func (d *donor) fold(cf rra.CF, start, end int64) float64 {
	var (
		out   = math.NaN()
		count int
	)
	for t := d.from(start); t < min(end, d.newest); t += d.span {
		if t+d.span <= start {
			continue
		}
		v := d.at(t)
		if v != v {
			continue
		}
		count++
		switch {
		case count == 1:
			out = v
		case cf == rra.Average:
			out += v
		case cf == rra.Min:
			out = min(out, v)
		case cf == rra.Max:
			out = max(out, v)
		default:
			out = v
		}
	}
	if cf == rra.Average && count > 1 {
		out /= float64(count)
	}
	return out
}

// fillCDPs sets what an archive that is added remembers: the row that is open, the last row
// (Primary), and the PDP before the open row (Secondary).
//
// For Secondary, rrdtool takes the row before the open one from the first archive that gives rows.
// If that archive has closed no row since, its Primary is taken. A row that ends exactly with the
// last update counts as open here.
func (f *Donors) fillCDPs(a *rra.Archive, rows []float64, cdps []rra.CDP) {
	span := a.PDPs * f.step
	open := f.last - f.last%span
	for ds := range cdps {
		c := &cdps[ds]
		if a.PDPs > 1 {
			c.Value, c.Unknown = gather(a.CF, open, f.last-f.last%f.step, f.step, func(t int64) float64 { return f.row(a.CF, t, t+f.step, ds) })
		}
		c.Primary, c.Secondary = rows[len(rows)-len(cdps)+ds], f.before(a.CF, open, span, ds)
	}
}

// before returns the PDP before the row that is open since open.
func (f *Donors) before(cf rra.CF, open, span int64, ds int) float64 {
	if open == f.last {
		open -= span
	}
	k := slices.IndexFunc(f.columns[ds], func(d donor) bool { return d.cf == cf || d.cf == rra.Average })
	if k < 0 {
		return 0
	}
	switch d := &f.columns[ds][k]; {
	case d.newest <= open:
		return d.primary
	case open >= d.oldest+d.span:
		return d.at(d.oldest + ((open-d.oldest)/d.span-1)*d.span)
	}
	return math.NaN()
}
