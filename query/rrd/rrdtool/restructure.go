package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/numeral"
	"github.com/rondo-db/rondo/query/rrd/reshape"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
)

// changes are the arguments of tune that add, remove or resize data sources and archives. Indices
// and names refer to the series before the change.
type changes struct {
	dropSources  []string
	sources      []string // DS:…
	dropArchives map[int]bool
	archives     []string // RRA:…
	rows         []rowChange
}

// A rowChange is an argument RRA#INDEX:OP NUMBER.
type rowChange struct {
	index  int64
	op     byte // +, - or =
	number int64
}

// parseChanges reads the arguments of tune behind the name of the series.
func parseChanges(args []string) (*changes, error) {
	c := &changes{dropArchives: make(map[int]bool)}
	for _, arg := range args {
		kind, rest, _ := strings.Cut(arg, ":")
		after := rest != ""
		switch {
		case kind == "DEL" && after:
			c.dropSources = append(c.dropSources, rest)
		case kind == "DS" && after:
			c.sources = append(c.sources, arg)
		case kind == "DELRRA" && after:
			i, ok := scanInt(rest)
			if !ok || i < 0 {
				return nil, errors.New("DELRRA requires a non-negative, integer argument")
			}
			c.dropArchives[int(i)] = true
		case kind == "RRA" && after:
			c.archives = append(c.archives, arg)
		case strings.HasPrefix(arg, "RRA#") && len(arg) > len("RRA#"):
			r, err := parseRowChange(arg)
			if err != nil {
				return nil, err
			}
			c.rows = append(c.rows, r)
		default:
			return nil, fmt.Errorf("unparseable argument: %s", arg)
		}
	}
	return c, nil
}

func parseRowChange(arg string) (rowChange, error) {
	bad := errors.New("Failed to parse RRA# command")
	index, op, ok := strings.Cut(strings.TrimPrefix(arg, "RRA#"), ":")
	r := rowChange{}
	digits := strings.TrimLeft(index, " \t\n\v\f\r+-")
	if r.index, _ = scanInt(index); !ok || digits == "" || leadingOf(digits, "0123456789") != digits || op == "" {
		return r, bad
	}
	r.op = op[0]
	if r.number, ok = scanInt(op[1:]); !ok {
		return r, bad
	}
	if !strings.ContainsRune("+-=", rune(r.op)) {
		return r, fmt.Errorf("Failed to parse RRA# command: invalid operation: %c", r.op)
	}
	if r.number < 0 {
		return r, fmt.Errorf("Failed to parse RRA# command: negative number: %d", r.number)
	}
	return r, nil
}

// restructure applies the changes in args, and sets the step in seconds if step is not 0. It takes
// most as Tune does.
func restructure(p *reshape.Series, args []string, step, most int64) (core.Copy, error) {
	c, err := parseChanges(args)
	if err != nil {
		return core.Copy{}, err
	}
	if err := c.apply(p, step, most); err != nil {
		return core.Copy{}, err
	}
	p.Rewind()
	return p.Copy()
}

func (c *changes) apply(p *reshape.Series, step, most int64) error {
	if step > 0 {
		if p.Definition.Step%step != 0 {
			return errors.New("invalid 'newstep' parameter. The newsize must divide the old step parameter without a remainder.")
		}
		p.Refine(step)
	}
	sources, archives, err := c.parse(p)
	if err != nil {
		return err
	}
	if err := admit(c.values(p, len(sources), archives), most); err != nil {
		return err
	}
	drop := make(map[int]bool)
	for _, name := range c.dropSources {
		if i := p.Source(name); i >= 0 {
			drop[i] = true
		}
	}
	if err := p.DropSources(drop); err != nil {
		return err
	}
	if err := p.AddSources(sources); err != nil {
		return err
	}
	done := make(map[int64]bool)
	from := p.Donors()
	for _, r := range c.rows {
		if r.index < 0 || r.index >= int64(len(p.Definition.Archives)) || done[r.index] || c.dropArchives[int(r.index)] {
			continue
		}
		done[r.index] = true // rrdtool applies only the first change of an archive
		i := int(r.index)
		if err := p.Resize(i, r.of(p.Definition.Archives[i].Rows), from); err != nil {
			return err
		}
	}
	gone := make(map[int]bool)
	for i := range c.dropArchives {
		if i < len(p.Definition.Archives) {
			gone[i] = true
		}
	}
	if err := p.AddArchives(archives, from); err != nil {
		return err
	}
	return p.DropArchives(gone)
}

// of returns how many rows an archive of some rows has after the change.
func (r rowChange) of(rows int64) int64 {
	switch n := min(r.number, reshape.MaxRows); r.op {
	case '+':
		return rows + n
	case '-':
		return rows - r.number
	}
	return r.number
}

// values returns how many values the rows have room for while the changes are applied: dropped data
// sources and archives go last. sources and archives are added.
func (c *changes) values(p *reshape.Series, sources int, archives []rra.Archive) (n int64) {
	done := make(map[int64]bool)
	for _, r := range c.rows {
		if r.index >= 0 && r.index < int64(len(p.Definition.Archives)) && !done[r.index] {
			done[r.index] = true
			rows := p.Definition.Archives[r.index].Rows
			n += max(0, min(r.of(rows), 2*reshape.MaxRows)-rows)
		}
	}
	for _, of := range [][]rra.Archive{p.Definition.Archives, archives} {
		for i := range of {
			n += of[i].Rows
		}
	}
	return n * int64(len(p.Definition.Sources)+sources)
}

// admit returns an error if n values are more than most; 0: no bound.
func admit(n, most int64) error {
	if most > 0 && n > most {
		return fmt.Errorf("%w: the archives have room for %d values, at most %d are possible here", core.ErrTooLarge, n, most)
	}
	return nil
}

// parse reads the data sources and archives that are added. As in rrdtool, an error in an archive
// comes before one in a data source.
func (c *changes) parse(p *reshape.Series) ([]rra.DataSource, []rra.Archive, error) {
	args := p.Definition.Args()
	d, err := rra.ParseDefinition(p.Definition.Step, append(args, c.archives...))
	if err != nil {
		return nil, nil, err
	}
	archives := d.Archives[len(p.Definition.Archives):]
	var left []string
	for i, s := range p.Definition.Sources {
		if !slices.Contains(c.dropSources, s.Name) {
			left = append(left, args[i])
		}
	}
	if len(c.sources) == 0 {
		return nil, archives, nil
	}
	d, err = rra.ParseDefinition(p.Definition.Step, append(append(left, c.sources...), args[len(p.Definition.Sources):]...))
	if err != nil {
		return nil, nil, err
	}
	return d.Sources[len(left):], archives, nil
}

const resizeUsage = `NAME INDEX GROW|SHRINK ROWS
  makes resize.rrd of a series, with more or fewer rows in the archive INDEX (from 0);
  to change the series itself: tune NAME RRA#INDEX:+ROWS`

// resized is the name of the series that resize makes.
const resized = "resize.rrd"

// resize makes a copy of a series with more or fewer rows in one archive.
func (c *command) resize(args []string) error {
	if len(args) != 4 {
		return errors.New("wrong number of parameters")
	}
	name, shrink := args[0], args[2] == "SHRINK"
	rows, _, _ := numeral.Scan(args[3], 0)
	switch {
	case name == resized:
		return errors.New("resize.rrd is a reserved name")
	case !shrink && args[2] != "GROW":
		return errors.New("I can only GROW or SHRINK")
	case rows < 1:
		return errors.New("Please grow or shrink with at least 1 row")
	}
	if shrink {
		rows = -rows
	}
	ref, err := c.owned(name)
	if err != nil {
		return err
	}
	series, err := c.Store.Export(c.ctx, ref)
	if err != nil {
		return named(name, err)
	}
	index, _, _ := numeral.Scan(args[1], 0)
	if series, err = resizedCopy(series, index, rows); err != nil {
		return err
	}
	if series.Path, err = c.Path(resized); err != nil {
		return err
	}
	return c.importSeries(series, true)
}

// resizedCopy returns a series whose archive i has more rows, or fewer if more is negative. New
// rows are unknown.
func resizedCopy(series core.Copy, i, more int64) (core.Copy, error) {
	p, err := reshape.Apart(series)
	if err != nil {
		return core.Copy{}, err
	}
	switch version := rrdfile.VersionOf(&p.Definition); {
	case i < 0 || i >= int64(len(p.Definition.Archives)):
		return core.Copy{}, errors.New("no such RRA in this RRD")
	case -more >= p.Definition.Archives[i].Rows:
		return core.Copy{}, errors.New("This RRA is not that big")
	case version > 4:
		return core.Copy{}, fmt.Errorf("Do not know how to handle RRD version %04d", version)
	}
	a := &p.Definition.Archives[i]
	if more < 0 {
		// The oldest rows stand behind the current row. They are removed first.
		behind := a.Rows - 1 - p.State.Archives[i].CurRow
		p.State.Archives[i].CurRow -= max(0, -more-behind)
	}
	if err := p.Resize(int(i), a.Rows+min(more, reshape.MaxRows), nil); err != nil {
		return core.Copy{}, err
	}
	p.Origin.Labels = nil // labels identify the original
	return p.Copy()
}
