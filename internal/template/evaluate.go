package template

import (
	"fmt"
	"reflect"
	"strings"
	"text/template"
	"text/template/parse"
)

// missing stands for the last argument of a function where the pipeline gives none.
var missing = reflect.ValueOf(struct{ missing bool }{true})

func isMissing(v reflect.Value) bool { return v.IsValid() && v.Type() == missing.Type() }

var anyType = reflect.TypeFor[any]()

// indirect follows pointers and interfaces to a value, and says whether it met a nil.
func indirect(v reflect.Value) (reflect.Value, bool) {
	for ; v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface; v = v.Elem() {
		if v.IsNil() {
			return v, true
		}
	}
	return v, false
}

// settled returns what is in an interface.
func settled(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}

// pipeline returns the value of a pipeline, and gives it to the variables of the pipeline.
func (s *state) pipeline(dot reflect.Value, p *parse.PipeNode) (v reflect.Value) {
	if p == nil {
		return v
	}
	s.node = p
	v = missing
	for _, c := range p.Cmds {
		if v = s.command(dot, c, v); v.Kind() == reflect.Interface && v.NumMethod() == 0 {
			v = v.Elem()
		}
	}
	for _, d := range p.Decl {
		if p.IsAssign {
			s.set(d.Ident[0], v)
		} else {
			s.vars = append(s.vars, variable{d.Ident[0], v})
		}
	}
	return v
}

// command returns the value of one part of a pipeline. final is the value of the part before.
func (s *state) command(dot reflect.Value, c *parse.CommandNode, final reflect.Value) reflect.Value {
	first := c.Args[0]
	switch n := first.(type) {
	case *parse.FieldNode:
		s.node = n
		return s.fields(dot, dot, n.Ident, c.Args, final)
	case *parse.ChainNode:
		return s.fields(dot, s.argument(dot, nil, n.Node), n.Field, c.Args, final)
	case *parse.IdentifierNode:
		s.node = n
		return s.function(dot, n.Ident, c.Args, final)
	case *parse.VariableNode:
		s.node = n
		if len(n.Ident) > 1 {
			return s.fields(dot, s.variable(n.Ident[0]), n.Ident[1:], c.Args, final)
		}
	}
	if len(c.Args) > 1 || !isMissing(final) {
		s.fail("can't give argument to non-function %s", first)
	}
	if _, none := first.(*parse.NilNode); none {
		s.fail("nil is not a command")
	}
	return s.argument(dot, nil, first)
}

// argument returns the value of a node as one of a type. A nil type takes what it is.
func (s *state) argument(dot reflect.Value, t reflect.Type, n parse.Node) (v reflect.Value) {
	s.node = n
	alone := []parse.Node{n}
	switch n := n.(type) {
	case *parse.DotNode:
		v = dot
	case *parse.FieldNode:
		v = s.fields(dot, dot, n.Ident, alone, missing)
	case *parse.VariableNode:
		v = s.fields(dot, s.variable(n.Ident[0]), n.Ident[1:], alone, missing)
	case *parse.PipeNode:
		v = s.pipeline(dot, n)
	case *parse.IdentifierNode:
		v = s.function(dot, n.Ident, alone, missing)
	case *parse.ChainNode:
		v = s.fields(dot, s.argument(dot, nil, n.Node), n.Field, alone, missing)
	case *parse.NilNode:
		if t != nil && !canBeNil(t) {
			s.fail("cannot assign nil to %s", t)
		}
	case *parse.BoolNode:
		v = reflect.ValueOf(n.True)
	case *parse.StringNode:
		v = reflect.ValueOf(n.Text)
	case *parse.NumberNode:
		return s.number(n, t)
	default:
		s.fail("can't handle %s", n)
	}
	s.node = n
	return s.fit(v, t)
}

func (s *state) true(v reflect.Value) bool {
	if !v.IsValid() {
		return false
	}
	t, ok := template.IsTrue(v.Interface())
	if !ok {
		s.fail("if/with can't use %v", v)
	}
	return t
}

// number returns a number of the template's text as one of a type.
func (s *state) number(n *parse.NumberNode, t reflect.Type) reflect.Value {
	if t == nil || t.Kind() == reflect.Interface {
		return s.fit(s.constant(n), t)
	}
	v := reflect.New(t).Elem()
	switch {
	case v.CanInt() && n.IsInt && !v.OverflowInt(n.Int64):
		v.SetInt(n.Int64)
	case v.CanUint() && n.IsUint && !v.OverflowUint(n.Uint64):
		v.SetUint(n.Uint64)
	case v.CanFloat() && n.IsFloat:
		v.SetFloat(n.Float64)
	case v.CanComplex() && n.IsComplex:
		v.SetComplex(n.Complex128)
	default:
		s.fail("expected %s; found %s", t, n)
	}
	return v
}

// constant returns a number in the type that Go gives it.
func (s *state) constant(n *parse.NumberNode) reflect.Value {
	isHex := len(n.Text) > 2 && n.Text[0] == '0' && strings.ContainsRune("xX", rune(n.Text[1])) && !strings.ContainsAny(n.Text, "pP")
	switch {
	case n.IsComplex && !n.IsFloat:
		return reflect.ValueOf(n.Complex128)
	case n.IsFloat && !isHex && n.Text[0] != '\'' && strings.ContainsAny(n.Text, ".eEpP"):
		return reflect.ValueOf(n.Float64)
	case n.IsInt && int64(int(n.Int64)) == n.Int64:
		return reflect.ValueOf(int(n.Int64))
	case n.IsInt || n.IsUint:
		s.fail("%s overflows int", n.Text)
	}
	return reflect.ValueOf(n.Float64)
}

func canBeNil(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice:
		return true
	}
	return false
}

// fit returns a value as one of a type, to which it can be assigned or which one pointer more or
// less makes of it.
func (s *state) fit(v reflect.Value, t reflect.Type) reflect.Value {
	switch {
	case t == nil:
		return v
	case !v.IsValid():
		if !canBeNil(t) {
			s.fail("invalid value; expected %s", t)
		}
		return reflect.Zero(t)
	case v.Type().AssignableTo(t):
		return v
	}
	if v.Kind() == reflect.Interface && !v.IsNil() {
		if v = v.Elem(); v.Type().AssignableTo(t) {
			return v
		}
	}
	switch {
	case v.Kind() == reflect.Pointer && v.Type().Elem().AssignableTo(t):
		if v.IsNil() {
			s.fail("dereference of nil pointer of type %s", t)
		}
		return v.Elem()
	case v.CanAddr() && reflect.PointerTo(v.Type()).AssignableTo(t):
		return v.Addr()
	}
	s.fail("wrong type for value; expected %s; got %s", t, v.Type())
	return v
}

// fields follows names of fields, of keys and of methods from a value. args and final are for the
// last one, if that is a method.
func (s *state) fields(dot, v reflect.Value, names []string, args []parse.Node, final reflect.Value) reflect.Value {
	for i, name := range names {
		if i < len(names)-1 {
			v = s.field(dot, v, name, nil, missing)
		} else {
			v = s.field(dot, v, name, args, final)
		}
	}
	return v
}

func (s *state) field(dot, v reflect.Value, name string, args []parse.Node, final reflect.Value) reflect.Value {
	if !v.IsValid() {
		return v
	}
	t := v.Type()
	v, isNil := indirect(v)
	if isNil {
		s.fail("nil pointer evaluating %s.%s", t, name)
	}
	if m := method(v, name); m != nil {
		return s.call(dot, name, reflect.ValueOf(m), args, final)
	}
	hasArgs := len(args) > 1 || !isMissing(final)
	switch {
	case v.Kind() == reflect.Struct:
		f, ok := v.Type().FieldByName(name)
		if !ok {
			break
		}
		if !f.IsExported() {
			s.fail("%s is an unexported field of struct type %s", name, t)
		}
		if hasArgs {
			s.fail("%s has arguments but cannot be invoked as function", name)
		}
		v, err := v.FieldByIndexErr(f.Index)
		if err != nil {
			s.fail("%w", err)
		}
		return v
	case v.Kind() == reflect.Map && reflect.TypeFor[string]().AssignableTo(v.Type().Key()):
		if hasArgs {
			s.fail("%s is not a method but has arguments", name)
		}
		if found := v.MapIndex(reflect.ValueOf(name)); found.IsValid() {
			return found
		}
		return reflect.Zero(v.Type().Elem())
	}
	s.fail("can't evaluate field %s in type %s", name, t)
	return v
}

func (s *state) function(dot reflect.Value, name string, args []parse.Node, final reflect.Value) reflect.Value {
	if name != "and" && name != "or" {
		return s.call(dot, name, reflect.ValueOf(s.t.funcs[name]), args, final)
	}
	// What follows the deciding argument is not evaluated.
	var v reflect.Value
	for _, a := range args[1:] {
		if v = settled(s.argument(dot, anyType, a)); s.true(v) == (name == "or") {
			return v
		}
	}
	if !isMissing(final) {
		return final
	}
	if len(args) == 1 {
		s.fail("wrong number of args for %s: want at least 1 got 0", name)
	}
	return v
}

// call calls a function with the arguments behind its name, and with final.
func (s *state) call(dot reflect.Value, name string, f reflect.Value, args []parse.Node, final reflect.Value) reflect.Value {
	if len(args) > 0 {
		args = args[1:] // the name
	}
	t, n := f.Type(), len(args)
	if !isMissing(final) {
		n++
	}
	switch {
	case t.IsVariadic() && n < t.NumIn()-1:
		s.fail("wrong number of args for %s: want at least %d got %d", name, t.NumIn()-1, n)
	case !t.IsVariadic() && n != t.NumIn():
		s.fail("wrong number of args for %s: want %d got %d", name, t.NumIn(), n)
	}
	in := func(i int) reflect.Type {
		if t.IsVariadic() && i >= t.NumIn()-1 {
			return t.In(t.NumIn() - 1).Elem()
		}
		return t.In(i)
	}
	at := s.node
	values := make([]reflect.Value, n)
	for i, a := range args {
		values[i] = s.argument(dot, in(i), a)
	}
	if !isMissing(final) {
		values[n-1] = s.fit(final, in(n-1))
	}
	s.node = at
	v, err := safely(f, values)
	if err != nil {
		s.fail("error calling %s: %w", name, err)
	}
	return v
}

// safely calls a function, and returns its panic as an error.
func safely(f reflect.Value, args []reflect.Value) (v reflect.Value, err error) {
	defer func() {
		if r := recover(); r != nil {
			err, _ = r.(error)
			if err == nil {
				err = fmt.Errorf("%v", r)
			}
		}
	}()
	out := f.Call(args)
	if len(out) == 2 && !out[1].IsNil() {
		return out[0], out[1].Interface().(error)
	}
	return out[0], nil
}
