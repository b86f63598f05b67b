package rrdtool

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/reshape"
	"github.com/rondo-db/rondo/rra"
)

// An Alteration is what alter changes of a series. What it leaves out stays.
type Alteration struct {
	Step     int64       // in seconds; 0: unchanged
	Archives []string    // all archives; Added and Dropped do not go with it
	Added    []string    // more archives
	Dropped  []int64     // indexes of archives, from 0
	Sources  []string    // more data sources, or what one that is there shall be
	Without  []string    // names of data sources
	Renamed  [][2]string // old name and new name of data sources
	// Most bounds the values of all rows that the altered series may have; 0: no bound.
	Most int64
}

// Apply returns the altered series. It does not change old. Its errors have messages for users.
func (a *Alteration) Apply(old core.Copy) (core.Copy, error) {
	p, err := reshape.Apart(old)
	if err != nil {
		return core.Copy{}, err
	}
	for _, r := range a.Renamed {
		i := p.Source(r[0])
		if i < 0 {
			return core.Copy{}, fmt.Errorf("unknown data source name '%s'", r[0])
		}
		if word, rest := leadingName(r[1]); word == "" || rest != "" {
			return core.Copy{}, fmt.Errorf("'%s' cannot be the name of a data source", r[1])
		}
		if err := p.Rename(i, r[1]); err != nil {
			return core.Copy{}, err
		}
	}
	gone := make(map[int]bool)
	for _, name := range a.Without {
		i := p.Source(name)
		if i < 0 {
			return core.Copy{}, fmt.Errorf("unknown data source name '%s'", name)
		}
		gone[i] = true
	}
	if err := p.DropSources(gone); err != nil {
		return core.Copy{}, err
	}
	d, err := a.definition(p)
	if err != nil {
		return core.Copy{}, err
	}
	if err := admit(Values(d), a.Most); err != nil {
		return core.Copy{}, err
	}
	plan := reshape.Plan{
		Path: old.Path, Name: old.Path, Labels: old.Labels, Definition: d, Last: p.State.LastUpdate,
		From: []*reshape.Series{p}, Mapped: mappings(d.Sources, nil), GoesOn: true,
	}
	return plan.Fill()
}

// definition returns the definition of the altered series. p must lack the dropped data sources
// already.
func (a *Alteration) definition(p *reshape.Series) (*rra.Definition, error) {
	step := a.Step
	if step == 0 {
		step = p.Definition.Step
	}
	gone := make(map[int]bool)
	for _, i := range a.Dropped {
		if i >= int64(len(p.Definition.Archives)) {
			return nil, fmt.Errorf("there is no archive %d", i)
		}
		gone[int(i)] = true
	}
	var stay []rra.Archive
	if len(a.Archives) == 0 {
		if len(gone) < len(p.Definition.Archives) || len(a.Added) == 0 {
			var err error
			if stay, err = reshape.DropArchives(p.Definition.Archives, gone); err != nil {
				return nil, err
			}
		}
	}
	for i := range stay {
		b := &stay[i]
		if b.CF > rra.Last || step == p.Definition.Step {
			continue
		}
		span := b.PDPs * p.Definition.Step
		if span%step != 0 {
			return nil, fmt.Errorf("archive %s has rows of %d s, which the step %d does not divide: say --rra", b, span, step)
		}
		b.PDPs = span / step
		b.Own = b.Own && b.PDPs == 1
	}
	args := a.sourceArgs(p.Definition.Sources)
	before := len(args)
	for i := range stay {
		args = append(args, stay[i].String())
	}
	d, err := rra.ParseDefinition(step, append(append(args, a.Archives...), a.Added...))
	if err != nil {
		return nil, err
	}
	// Unchanged parts are copied, because their text does not have the full precision.
	copy(d.Archives, stay)
	for i := range min(before, len(p.Definition.Sources)) {
		if args[i] == p.Definition.Sources[i].String() {
			d.Sources[i] = p.Definition.Sources[i]
		}
	}
	return d, d.Validate()
}

// sourceArgs returns the data sources as texts. A data source of --ds replaces the one of the same
// name; others of --ds come last.
func (a *Alteration) sourceArgs(sources []rra.DataSource) []string {
	var args []string
	index := make(map[string]int)
	for i := range sources {
		index[sources[i].Name] = len(args)
		args = append(args, sources[i].String())
	}
	for _, s := range a.Sources {
		name, _ := leadingName(strings.TrimPrefix(s, "DS:"))
		if i, ok := index[name]; ok {
			args[i] = s
			continue
		}
		index[name] = len(args)
		args = append(args, s)
	}
	return args
}

// Values returns how many values the rows of a definition have room for.
func Values(d *rra.Definition) (n int64) {
	for i := range d.Archives {
		n += d.Archives[i].Rows * int64(len(d.Sources))
	}
	return n
}

// KnownRows returns, of each archive of a series, how many rows have a value that is known.
func KnownRows(c *core.Copy) []int64 {
	known, wide := make([]int64, len(c.Rows)), len(c.Definition.Sources)
	for i, rows := range c.Rows {
		for k := 0; k < len(rows); k += wide {
			for _, v := range rows[k : k+wide] {
				if v == v {
					known[i]++
					break
				}
			}
		}
	}
	return known
}

// Tune returns a series as the options and changes of tune leave it. It does not change old. If one
// of args is wrong, nothing is tuned: the error has rrdtool's message. most bounds the values that
// the rows have room for, before memory is taken for them; 0: no bound. Beyond it the error is a
// core.ErrTooLarge.
func Tune(old core.Copy, args []string, most int64) (core.Copy, error) {
	if len(args) == 0 {
		return core.Copy{}, errors.New("nothing to tune")
	}
	_, err := parse(args, tuneOptions, func(name, _ string) error {
		if name == "daemon" {
			return errors.New("--daemon is for the command line")
		}
		return nil
	})
	if err != nil {
		return core.Copy{}, err
	}
	const name = "." // the name of the series stands before the changes
	made, err := tuneCopy(old, old.Path, append([]string{name}, args...), most)
	if err != nil {
		return core.Copy{}, err
	}
	return made, nil
}
