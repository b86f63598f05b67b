package rrdtool

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rpn"
)

// parts are a series taken apart: what tune, resize and alter change before they put it together again.
type parts struct {
	series core.Copy
	d      rra.Definition
	x      *rra.Snapshot
	name   string      // by which seasons of new archives are smoothed
	rows   [][]float64 // the whole ring of each archive, oldest row first, data source beside data source
}

// takeApart returns the parts of a series. They share nothing with it that is changed.
func takeApart(c core.Copy) (*parts, error) {
	m, err := rra.Compile(c.Definition)
	if err != nil {
		return nil, err
	}
	p := &parts{series: c, d: *c.Definition, x: m.Snapshot(&c.State), name: c.Path}
	p.d.Sources, p.d.Archives = slices.Clone(p.d.Sources), slices.Clone(p.d.Archives)
	for i := range p.d.Archives {
		size := int(p.d.Archives[i].Rows) * len(p.d.Sources)
		rows := p.x.Archives[i].Rows
		if rows == nil {
			kept := c.Rows[i]
			rows = append(unknown(size-len(kept)), kept...)
		}
		p.rows = append(p.rows, rows)
	}
	return p, nil
}

// unknown returns n unknown values.
func unknown(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

// together makes a series of the parts.
func (p *parts) together() (core.Copy, error) {
	if err := p.d.Validate(); err != nil {
		return core.Copy{}, err
	}
	m, err := rra.Compile(&p.d)
	if err != nil {
		return core.Copy{}, err
	}
	for i := range p.rows {
		p.x.Archives[i].Rows = p.rows[i]
	}
	c := p.series
	c.Definition, c.Rows = &p.d, p.rows
	c.State, err = m.Import(p.x)
	return c, err
}

// fresh is what a series of the parts' definition would remember had nothing ever been stored in it.
func (p *parts) fresh() (*rra.Snapshot, error) {
	m, err := rra.Compile(&p.d)
	if err != nil {
		return nil, err
	}
	s := m.NewState(p.x.LastUpdate)
	m.SmoothBy(s.W, rra.NameHash(p.name))
	return m.Snapshot(&s), nil
}

// last returns the second of the last update.
func (p *parts) last() int64 { return p.x.LastUpdate.Unix() }

// source returns the index of a data source; -1: there is none.
func (p *parts) source(name string) int {
	return slices.IndexFunc(p.d.Sources, func(s rra.DataSource) bool { return s.Name == name })
}

// rename gives a data source another name, in expressions too.
func (p *parts) rename(i int, name string) error {
	old := sourceNames(p.d.Sources)
	if j := p.source(name); j >= 0 && j != i {
		return fmt.Errorf("there is a data source '%s' already", name)
	}
	for j := i + 1; j < len(p.d.Sources); j++ {
		s := &p.d.Sources[j]
		if s.Kind != rra.Compute {
			continue
		}
		program, err := rpn.Compile(s.Expr, old[:j])
		if err != nil {
			return err
		}
		words := strings.Split(s.Expr, ",")
		for k, w := range program.Words() {
			switch {
			case w.Kind == rpn.Variable && w.Variable == i:
				words[k] = name
			case w.Kind == rpn.Previous && w.Variable == i:
				words[k] = "PREV(" + name + ")"
			}
		}
		s.Expr = strings.Join(words, ",")
		names := slices.Clone(old[:j])
		names[i] = name
		if again, err := rpn.Compile(s.Expr, names); err != nil || !again.Uses(i) && program.Uses(i) {
			return fmt.Errorf("'%s' means something else in the expression of '%s'", name, s.Name)
		}
	}
	p.d.Sources[i].Name = name
	return nil
}

func sourceNames(sources []rra.DataSource) []string {
	names := make([]string, len(sources))
	for i := range sources {
		names[i] = sources[i].Name
	}
	return names
}

// dropSources removes data sources.
func (p *parts) dropSources(drop map[int]bool) error {
	if len(drop) == len(p.d.Sources) {
		return fmt.Errorf("a series needs a data source")
	}
	names := sourceNames(p.d.Sources)
	for j := range p.d.Sources {
		s := &p.d.Sources[j]
		if s.Kind != rra.Compute || drop[j] {
			continue
		}
		program, err := rpn.Compile(s.Expr, names[:j])
		if err != nil {
			return err
		}
		for i := range drop {
			if i < j && program.Uses(i) {
				return fmt.Errorf("data source '%s' is needed by '%s'", names[i], s.Name)
			}
		}
	}
	n := len(p.d.Sources)
	for i := range p.rows {
		p.rows[i] = without(p.rows[i], n, drop)
		p.x.Archives[i].CDPs = without(p.x.Archives[i].CDPs, n, drop)
	}
	p.x.Sources = without(p.x.Sources, n, drop)
	p.d.Sources = without(p.d.Sources, n, drop)
	return nil
}

// without returns the elements of rows of n whose place in the row is not to be dropped.
func without[T any](rows []T, n int, drop map[int]bool) []T {
	var out []T
	for i := range rows {
		if !drop[i%n] {
			out = append(out, rows[i])
		}
	}
	return out
}

// addSources appends data sources, which nothing is known of.
func (p *parts) addSources(sources []rra.DataSource) error {
	if len(sources) == 0 {
		return nil
	}
	before := len(p.d.Sources)
	p.d.Sources = append(p.d.Sources, sources...)
	fresh, err := p.fresh()
	if err != nil {
		return err
	}
	for i := before; i < len(p.d.Sources); i++ {
		fresh.Sources[i].Value = 0 // rrdtool begins with a sum of nothing
		p.x.Sources = append(p.x.Sources, fresh.Sources[i])
	}
	for i := range p.rows {
		p.x.Archives[i].CDPs = append(p.x.Archives[i].CDPs, fresh.Archives[i].CDPs[before:]...)
		var rows []float64
		for old := range slices.Chunk(p.rows[i], before) {
			rows = append(append(rows, old...), unknown(len(sources))...)
		}
		p.rows[i] = rows
	}
	return nil
}

// dropArchives removes archives. One that another needs may only go with it.
func (p *parts) dropArchives(drop map[int]bool) error {
	moved := make([]int, len(p.d.Archives))
	next := 0
	for i := range moved {
		moved[i] = next
		if !drop[i] {
			next++
		}
	}
	if next == 0 {
		return fmt.Errorf("a series needs an archive")
	}
	for i := range p.d.Archives {
		a := &p.d.Archives[i]
		if drop[i] || a.CF <= rra.Last {
			continue
		}
		if drop[a.Partner] {
			return fmt.Errorf("archive %d is needed by archive %d", a.Partner, i)
		}
		a.Partner = moved[a.Partner]
	}
	n := len(moved)
	p.rows = without(p.rows, n, drop)
	p.x.Archives = without(p.x.Archives, n, drop)
	p.d.Archives = without(p.d.Archives, n, drop)
	return nil
}

// addArchives appends archives, with the rows that others have.
func (p *parts) addArchives(archives []rra.Archive, from *filling) error {
	if len(archives) == 0 {
		return nil
	}
	before := len(p.d.Archives)
	p.d.Archives = append(p.d.Archives, archives...)
	fresh, err := p.fresh()
	if err != nil {
		return err
	}
	for i := before; i < len(p.d.Archives); i++ {
		a := &p.d.Archives[i]
		x := &fresh.Archives[i]
		rows := x.Rows
		if rows == nil {
			rows = from.rows(a, a.Rows, 0)
		}
		if a.CF <= rra.Last && a.PDPs > 1 {
			from.open(a, x.CDPs)
		}
		if a.CF <= rra.Last {
			from.closed(a, rows, x.CDPs)
		}
		p.rows = append(p.rows, rows)
		p.x.Archives = append(p.x.Archives, *x)
	}
	return nil
}

// maxRows is the most rows that rrdtool's files and rondo's series have.
const maxRows = math.MaxInt32

// resize gives an archive another number of rows: the oldest go, or such as others have come.
func (p *parts) resize(i int, rows int64, from *filling) error {
	a := &p.d.Archives[i]
	if rows < 1 || rows > maxRows {
		return fmt.Errorf("archive %d cannot have %d rows", i, rows)
	}
	n := int64(len(p.d.Sources))
	switch more := rows - a.Rows; {
	case more < 0:
		p.rows[i] = p.rows[i][-more*n:]
	case more > 0:
		p.rows[i] = append(from.rows(a, more, a.Rows), p.rows[i]...)
	}
	a.Rows = rows
	return nil
}

// refine sets a step that divides the one there is. What is open keeps its mean.
func (p *parts) refine(step int64) {
	n := p.d.Step / step
	old := p.last() - p.last()%p.d.Step // when the open PDP began
	closed := (p.last() - old) / step   // PDPs of the new step that are closed already
	p.d.Step = step
	means := make([]float64, len(p.x.Sources))
	for i := range p.x.Sources {
		s := &p.x.Sources[i]
		means[i] = math.NaN()
		elapsed := p.last() - old
		if known := elapsed - s.UnknownSec; known > 0 && s.UnknownSec <= elapsed/2 {
			means[i] = s.Value / float64(known)
		}
		if closed == 0 {
			continue
		}
		rest := p.last() % step
		s.UnknownSec = 0
		if s.Value = means[i] * float64(rest); math.IsNaN(means[i]) {
			s.UnknownSec = rest
		}
	}
	for i := range p.d.Archives {
		a := &p.d.Archives[i]
		if a.CF > rra.Last {
			continue
		}
		one := a.PDPs == 1
		a.PDPs *= n
		if a.Own = a.Own && a.PDPs == 1; n == 1 {
			continue
		}
		for ds := range p.x.Archives[i].CDPs {
			c := &p.x.Archives[i].CDPs[ds]
			if one {
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

// rewind has the rings of all archives end with their last row, where rrdtool puts them.
func (p *parts) rewind() {
	for i := range p.x.Archives {
		p.x.Archives[i].CurRow = p.d.Archives[i].Rows - 1
	}
}
