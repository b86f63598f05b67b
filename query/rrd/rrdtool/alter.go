package rrdtool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/reshape"
	"github.com/rondo-db/rondo/rra"
)

const alterUsage = `NAME [OPTIONS]
  --rra RRA:…          the archives that the series shall have, in place of those it has; repeat
  --add-rra RRA:…      one more archive; repeat
  --drop-rra INDEX     one less, counted from 0 among those there are; repeat
  --ds DS:…            one more data source, or what one that is there shall be; repeat
  --drop-ds NAME       one less; repeat
  --rename OLD:NEW     another name of a data source; repeat
  -s, --step SECONDS   another step; archives keep what time a row covers
  -n, --dry-run        change nothing
  -o, --output FORMAT  of what the series then keeps: table, json or none
  -d, --daemon ADDRESS  ask the server at ADDRESS
rows of new archives are made of the finest that are known`

var alterOptions = optionsIn(alterUsage)

// An alteration is the options of alter.
type alteration struct {
	Alteration
	dry    bool
	output string
}

// alter changes the data sources, archives and step of a series, and keeps its history.
func (c *command) alter(args []string) error {
	a := alteration{output: "table"}
	rest, err := parse(args, alterOptions, func(name, arg string) error {
		if name == "daemon" {
			return c.daemon(arg)
		}
		return a.option(name, arg)
	})
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return errors.New("alter needs the name of one series")
	}
	find := c.owned
	if a.dry {
		find = c.native
	}
	ref, err := find(rest[0])
	if err != nil {
		return err
	}
	series, err := c.Store.Export(c.ctx, ref)
	if err != nil {
		return named(rest[0], err)
	}
	var made core.Copy
	if a.dry {
		made, err = a.Apply(series)
	} else {
		_, err = c.Store.Alter(c.ctx, series.Path, func(old core.Copy) (core.Copy, error) {
			made, err = a.Apply(old)
			return made, err
		})
	}
	if err != nil {
		return named(rest[0], err)
	}
	return c.altered(a.output, &made)
}

func (a *alteration) option(name, arg string) (err error) {
	switch name {
	case "rra":
		a.Archives = append(a.Archives, arg)
	case "add-rra":
		a.Added = append(a.Added, arg)
	case "drop-rra":
		i, err := strconv.ParseUint(arg, 10, 31)
		if err != nil {
			return fmt.Errorf("--drop-rra %s: not the index of an archive", arg)
		}
		a.Dropped = append(a.Dropped, int64(i))
	case "ds":
		a.Sources = append(a.Sources, arg)
	case "drop-ds":
		a.Without = append(a.Without, arg)
	case "rename":
		old, next, ok := strings.Cut(arg, ":")
		if word, rest := leadingName(next); !ok || word == "" || rest != "" {
			return fmt.Errorf("--rename %s: must be OLD:NEW", arg)
		}
		a.Renamed = append(a.Renamed, [2]string{old, next})
	case "step":
		if a.Step, err = rra.ParseDuration(arg); err != nil {
			return fmt.Errorf("step size: %w", err)
		}
	case "dry-run":
		a.dry = true
	case "output":
		if arg != "table" && arg != "json" && arg != "none" {
			return fmt.Errorf("--output %s: must be table, json or none", arg)
		}
		a.output = arg
	}
	if len(a.Archives) > 0 && len(a.Added)+len(a.Dropped) > 0 {
		return errors.New("--rra names all archives: --add-rra and --drop-rra do not go with it")
	}
	return nil
}

// altered prints the definition of the altered series and how many rows of each archive are known.
func (c *command) altered(output string, made *core.Copy) error {
	type archive struct {
		Archive string `json:"archive"`
		Seconds int64  `json:"seconds"`
		Rows    int64  `json:"rows"`
		Known   int64  `json:"known"`
	}
	var archives []archive
	d, known := made.Definition, KnownRows(made)
	for i := range d.Archives {
		a := &d.Archives[i]
		archives = append(archives, archive{a.String(), a.PDPs * d.Step, a.Rows, known[i]})
	}
	switch output {
	case "json":
		var sources []string
		for i := range d.Sources {
			sources = append(sources, d.Sources[i].String())
		}
		b, err := json.Marshal(map[string]any{"path": made.Path, "step": d.Step, "sources": sources, "archives": archives})
		if err != nil {
			return err
		}
		c.printf("%s\n", b)
	case "table":
		for i := range d.Sources {
			c.printf("%s\n", d.Sources[i].String())
		}
		for _, a := range archives {
			c.printf("%-32s %8d s a row %8d rows %8d known\n", a.Archive, a.Seconds, a.Rows, a.Known)
		}
	}
	return nil
}

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
