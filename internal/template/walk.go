package template

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"text/template/parse"
)

// Execute writes the template that has a name, with data as its dot. A key that a map does not have
// stands for the zero of the map's values. Errors say where in the template they came up, or come
// from w.
func (t *Template) Execute(w io.Writer, name string, data any) (err error) {
	tree := t.trees[name]
	if tree == nil || tree.Root == nil {
		return fmt.Errorf("template: there is no template %q", name)
	}
	dot := reflect.ValueOf(data)
	s := &state{t: t, tree: tree, w: w, vars: []variable{{"$", dot}}}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			panic(r)
		}
	}()
	s.list(dot, tree.Root)
	return nil
}

// A flow says how a list of nodes ended.
type flow int

const (
	onward    flow = iota
	leaveLoop      // by break
	nextRound      // by continue
)

// list executes nodes in their order.
func (s *state) list(dot reflect.Value, l *parse.ListNode) flow {
	if l == nil {
		return onward
	}
	if s.lists == maxLists {
		s.fail("more than %d lists are inside of each other", maxLists)
	}
	s.lists++
	defer func() { s.lists-- }()
	for _, n := range l.Nodes {
		if f := s.walk(dot, n); f != onward {
			return f
		}
	}
	return onward
}

func (s *state) walk(dot reflect.Value, n parse.Node) flow {
	s.node = n
	switch n := n.(type) {
	case *parse.ActionNode:
		// Variables that a pipeline declares last until the end of the list.
		if v := s.pipeline(dot, n.Pipe); len(n.Pipe.Decl) == 0 {
			s.node = n
			s.print(v)
		}
	case *parse.BreakNode:
		return leaveLoop
	case *parse.ContinueNode:
		return nextRound
	case *parse.CommentNode:
	case *parse.IfNode:
		return s.branch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		return s.branch(dot, &n.BranchNode, true)
	case *parse.RangeNode:
		return s.loop(dot, n)
	case *parse.TemplateNode:
		s.template(dot, n)
	case *parse.TextNode:
		s.count(string(n.Text))
		s.write(string(n.Text))
	default:
		s.fail("unknown node: %s", n)
	}
	return onward
}

// branch executes if and with, which makes the value the dot.
func (s *state) branch(dot reflect.Value, n *parse.BranchNode, with bool) flow {
	defer s.forget(len(s.vars))
	v := s.pipeline(dot, n.Pipe)
	switch {
	case !s.true(v):
		return s.list(dot, n.ElseList)
	case with:
		return s.list(v, n.List)
	}
	return s.list(dot, n.List)
}

// forget drops the variables that were declared since there were n.
func (s *state) forget(n int) { s.vars = s.vars[:n] }

// loop executes range. As in text/template, continue behind else ends a round of the loop outside,
// and break ends the list behind else only.
func (s *state) loop(dot reflect.Value, n *parse.RangeNode) flow {
	defer s.forget(len(s.vars))
	over, _ := indirect(s.pipeline(dot, n.Pipe))
	declared := len(s.vars)
	// round executes the list once, and says whether there may be more rounds.
	round := func(key, elem reflect.Value) bool {
		defer s.forget(declared)
		s.count("")
		s.name(n.Pipe, declared, key, elem)
		return s.list(elem, n.List) != leaveLoop
	}
	rounds := 0
	switch over.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if len(n.Pipe.Decl) > 1 {
			s.fail("can't use %v to iterate over more than one variable", over)
		}
		for v := range over.Seq() {
			if rounds++; !round(v, v) {
				break
			}
		}
	case reflect.Array, reflect.Slice:
		for i := range over.Len() {
			if rounds++; !round(reflect.ValueOf(i), over.Index(i)) {
				break
			}
		}
	case reflect.Map:
		for _, k := range sortedKeys(over) {
			if rounds++; !round(k, over.MapIndex(k)) {
				break
			}
		}
	case reflect.Invalid:
	default:
		s.fail("range can't iterate over %v", over)
	}
	if rounds == 0 && s.list(dot, n.ElseList) == nextRound {
		return nextRound
	}
	return onward
}

// name gives the variables of range their values in a round. A single one is the element.
func (s *state) name(p *parse.PipeNode, declared int, key, elem reflect.Value) {
	values := []reflect.Value{elem}
	if len(p.Decl) > 1 {
		values = []reflect.Value{key, elem}
	}
	for i, d := range p.Decl {
		if p.IsAssign {
			s.set(d.Ident[0], values[i])
		} else {
			s.vars[declared-len(p.Decl)+i].value = values[i]
		}
	}
}

// sortedKeys returns the keys of a map in their order, as fmt prints them.
func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		a, b = settled(a), settled(b)
		switch {
		case a.Kind() == reflect.String && b.Kind() == reflect.String:
			return cmp.Compare(a.String(), b.String())
		case a.CanInt() && b.CanInt():
			return cmp.Compare(a.Int(), b.Int())
		case a.CanUint() && b.CanUint():
			return cmp.Compare(a.Uint(), b.Uint())
		case a.CanFloat() && b.CanFloat():
			return cmp.Compare(a.Float(), b.Float())
		}
		return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	return keys
}

// template executes another template, which sees its own variables only.
func (s *state) template(dot reflect.Value, n *parse.TemplateNode) {
	tree := s.t.trees[n.Name]
	if tree == nil {
		s.fail("template %q not defined", n.Name)
	}
	s.count("")
	dot = s.pipeline(dot, n.Pipe)
	inner := *s
	inner.tree, inner.vars = tree, []variable{{"$", dot}}
	inner.list(dot, tree.Root)
}

func (s *state) print(v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		v, _ = indirect(v)
	}
	if !v.IsValid() {
		s.count("")
		s.write("<no value>")
		return
	}
	if k := v.Kind(); k == reflect.Chan || k == reflect.Func {
		s.fail("can't print %s of type %s", s.node, v.Type())
	}
	value := v.Interface()
	if v.CanAddr() {
		switch p := v.Addr().Interface().(type) {
		case error, fmt.Stringer:
			value = p
		}
	}
	s.count(value)
	text := fmt.Sprint(value)
	if _, whole := value.(HTML); !whole && s.t.Escape != nil {
		text = s.t.Escape(text)
	}
	s.write(text)
}

func (s *state) write(text string) {
	if _, err := s.w.Write([]byte(text)); err != nil {
		panic(failure{err})
	}
}
