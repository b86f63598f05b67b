// Package template executes templates as text/template does, with one difference: of the values
// that a template is given, it calls only methods of times and durations.
//
// A program that links text/template's Execute keeps every exported method of every type in it,
// because a template might name any of them. This package made rondo's program a seventh shorter.
// It uses the parser of the standard library, text/template/parse.
package template

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"text/template/parse"
)

// HTML is text that is written as it is where a template escapes values.
type HTML string

// Funcs are functions by name. A function returns one value, or a value and an error.
type Funcs map[string]any

// A Template is a parsed template and all that it defines. The functions that it may call are the
// ones that it was parsed with and: and, eq, ge, gt, html, index, js, le, len, lt, ne, not, or,
// print, printf, println, slice, urlquery. Several goroutines may execute it.
type Template struct {
	// Escape, if it is not nil, changes every value that is written, but not HTML.
	Escape func(string) string
	// Count, if it is not nil, is called with each text and value before it is written, and with
	// an empty text for each round of a loop and each call of a template. Its error ends the
	// execution.
	Count func(any) error

	trees map[string]*parse.Tree
	funcs Funcs
}

// Parse parses a template. Errors have its name and the line.
func Parse(name, text string, funcs Funcs) (*Template, error) {
	all := maps.Clone(builtins)
	maps.Copy(all, funcs)
	trees, err := parse.Parse(name, text, "", "", all, special)
	if err != nil {
		return nil, err
	}
	return &Template{trees: trees, funcs: all}, nil
}

// Must returns t, and panics with an error.
func Must(t *Template, err error) *Template {
	if err != nil {
		panic(err)
	}
	return t
}

// A failure is what ends an execution, as a panic.
type failure struct{ error }

// A state is how far an execution has come.
type state struct {
	t     *Template
	tree  *parse.Tree // that is executed
	node  parse.Node  // for messages
	w     io.Writer
	vars  []variable // the innermost last
	lists int        // that are executed, one inside of the other
}

// maxLists bounds the lists of if, with, range and template that are executed inside of each other,
// because a goroutine whose stack is full ends the process.
const maxLists = 10_000

type variable struct {
	name  string
	value reflect.Value
}

// fail ends the execution with an error at the node.
func (s *state) fail(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if s.node == nil {
		panic(failure{fmt.Errorf("template: %s: %w", s.tree.Name, err)})
	}
	at, context := s.tree.ErrorContext(s.node)
	panic(failure{fmt.Errorf("template: %s: executing %q at <%s>: %w", at, s.tree.Name, context, err)})
}

// count counts a text or a value.
func (s *state) count(v any) {
	if s.t.Count == nil {
		return
	}
	if err := s.t.Count(v); err != nil {
		s.fail("%w", err)
	}
}

func (s *state) set(name string, value reflect.Value) {
	for i := len(s.vars) - 1; i >= 0; i-- {
		if s.vars[i].name == name {
			s.vars[i].value = value
			return
		}
	}
	s.fail("undefined variable: %s", name)
}

func (s *state) variable(name string) reflect.Value {
	for i := len(s.vars) - 1; i >= 0; i-- {
		if s.vars[i].name == name {
			return s.vars[i].value
		}
	}
	s.fail("undefined variable: %s", name)
	return reflect.Value{}
}
