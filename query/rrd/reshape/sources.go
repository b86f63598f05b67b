package reshape

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rpn"
)

// Rename gives data source i another name, in the expressions of the other data sources too.
func (s *Series) Rename(i int, name string) error {
	sources := s.Definition.Sources
	old := sourceNames(sources)
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

func sourceNames(sources []rra.DataSource) []string {
	names := make([]string, len(sources))
	for i := range sources {
		names[i] = sources[i].Name
	}
	return names
}

// DropSources removes the data sources whose index is in drop.
func (s *Series) DropSources(drop map[int]bool) error {
	d := &s.Definition
	if len(drop) == len(d.Sources) {
		return errors.New("a series needs a data source")
	}
	names := sourceNames(d.Sources)
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
