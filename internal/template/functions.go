package template

import (
	"errors"
	"fmt"
	"reflect"
	"text/template"
	"time"
)

// special are functions that do not evaluate every argument.
var special = map[string]any{"and": true, "or": true}

// builtins are the functions of text/template.
var builtins = Funcs{
	"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
	"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln,
	"not": func(v any) bool { t, _ := template.IsTrue(v); return !t },
	"len": length, "index": index, "slice": slice,
	"eq": equal,
	"ne": func(a, b any) (bool, error) { t, err := equal(a, b); return !t, err },
	"lt": less,
	"ge": func(a, b any) (bool, error) { t, err := less(a, b); return err == nil && !t, err },
	"gt": func(a, b any) (bool, error) { t, err := atMost(a, b); return err == nil && !t, err },
	"le": atMost,
}

func length(of any) (int, error) {
	v, isNil := indirect(reflect.ValueOf(of))
	if isNil {
		return 0, errors.New("len of nil pointer")
	}
	switch v.Kind() {
	case reflect.Array, reflect.Chan, reflect.Map, reflect.Slice, reflect.String:
		return v.Len(), nil
	case reflect.Invalid:
		return 0, errors.New("len of nil")
	}
	return 0, fmt.Errorf("len of type %s", v.Type())
}

func index(of any, by ...any) (any, error) {
	v := reflect.ValueOf(of)
	if !v.IsValid() {
		return nil, errors.New("index of untyped nil")
	}
	for _, i := range by {
		at, isNil := reflect.ValueOf(i), false
		if v, isNil = indirect(v); isNil {
			return nil, errors.New("index of nil pointer")
		}
		switch v.Kind() {
		case reflect.Array, reflect.Slice, reflect.String:
			n, err := place(at, v.Len()-1)
			if err != nil {
				return nil, err
			}
			v = v.Index(n)
		case reflect.Map:
			t := v.Type()
			switch {
			case !at.IsValid() && canBeNil(t.Key()):
				at = reflect.Zero(t.Key())
			case !at.IsValid() || !at.Type().AssignableTo(t.Key()) && !(isInteger(at.Kind()) && isInteger(t.Key().Kind())):
				return nil, fmt.Errorf("a key of the map has type %s, not %T", t.Key(), i)
			}
			if v = v.MapIndex(at.Convert(t.Key())); !v.IsValid() {
				v = reflect.Zero(t.Elem())
			}
		default:
			return nil, fmt.Errorf("can't index item of type %s", v.Type())
		}
	}
	return v.Interface(), nil
}

func slice(of any, by ...any) (any, error) {
	v, isNil := indirect(reflect.ValueOf(of))
	if isNil || !v.IsValid() {
		return nil, errors.New("slice of nil")
	}
	most := 0
	switch {
	case v.Kind() == reflect.String && len(by) < 3:
		most = v.Len()
	case v.Kind() == reflect.Slice && len(by) <= 3:
		most = v.Cap()
	default:
		return nil, fmt.Errorf("can't slice item of type %s by %d numbers", v.Type(), len(by))
	}
	at := [3]int{0, v.Len(), most}
	for i, b := range by {
		n, err := place(reflect.ValueOf(b), most)
		if err != nil {
			return nil, err
		}
		at[i] = n
	}
	if at[0] > at[1] || at[1] > at[2] {
		return nil, fmt.Errorf("invalid slice index: %v", by)
	}
	if len(by) < 3 {
		return v.Slice(at[0], at[1]).Interface(), nil
	}
	return v.Slice3(at[0], at[1], at[2]).Interface(), nil
}

// place returns an index, which may be from 0 to most.
func place(v reflect.Value, most int) (int, error) {
	n := int64(-1)
	switch {
	case v.IsValid() && v.CanInt():
		n = v.Int()
	case v.IsValid() && v.CanUint():
		n = int64(min(v.Uint(), uint64(most)+1))
	default:
		return 0, fmt.Errorf("cannot index slice/array with %v", v)
	}
	if n < 0 || n > int64(most) {
		return 0, fmt.Errorf("index out of range: %d", n)
	}
	return int(n), nil
}

func isInteger(k reflect.Kind) bool { return reflect.Int <= k && k <= reflect.Uintptr }

// order says whether a is less than b, and whether both are the same. Values of different kinds
// have no order, but for integers with a sign and without.
func order(a, b any) (less, same bool, err error) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	switch {
	case !x.IsValid() || !y.IsValid():
	case x.CanInt() && y.CanInt():
		return x.Int() < y.Int(), x.Int() == y.Int(), nil
	case x.CanUint() && y.CanUint():
		return x.Uint() < y.Uint(), x.Uint() == y.Uint(), nil
	case x.CanInt() && y.CanUint():
		return x.Int() < 0 || uint64(x.Int()) < y.Uint(), x.Int() >= 0 && uint64(x.Int()) == y.Uint(), nil
	case x.CanUint() && y.CanInt():
		return y.Int() >= 0 && x.Uint() < uint64(y.Int()), y.Int() >= 0 && x.Uint() == uint64(y.Int()), nil
	case x.CanFloat() && y.CanFloat():
		return x.Float() < y.Float(), x.Float() == y.Float(), nil
	case x.Kind() == reflect.String && y.Kind() == reflect.String:
		return x.String() < y.String(), x.String() == y.String(), nil
	}
	return false, false, fmt.Errorf("incompatible types for comparison: %T and %T", a, b)
}

func less(a, b any) (bool, error) {
	t, _, err := order(a, b)
	return t, err
}

func atMost(a, b any) (bool, error) {
	t, same, err := order(a, b)
	return t || same, err
}

func equal(a any, others ...any) (bool, error) {
	if len(others) == 0 {
		return false, errors.New("missing argument for comparison")
	}
	for _, b := range others {
		_, same, err := order(a, b)
		x, y := reflect.ValueOf(a), reflect.ValueOf(b)
		switch {
		case err == nil:
		case !x.IsValid() || !y.IsValid():
			same = isNil(x) && isNil(y)
		case x.Kind() != y.Kind() || !x.Comparable() || !y.Comparable():
			return false, err
		default:
			same = a == b
		}
		if same {
			return true, nil
		}
	}
	return false, nil
}

func isNil(v reflect.Value) bool {
	return !v.IsValid() || canBeNil(v.Type()) && v.IsNil()
}

// method returns the method that has a name, of a time, a duration, a month or a day of the week,
// or nil.
func method(v reflect.Value, name string) any {
	if !v.CanInterface() {
		return nil
	}
	switch x := v.Interface().(type) {
	case time.Time:
		return map[string]any{
			"Add": x.Add, "AddDate": x.AddDate, "After": x.After, "Before": x.Before, "Compare": x.Compare, "Day": x.Day,
			"Equal": x.Equal, "Format": x.Format, "Hour": x.Hour, "IsZero": x.IsZero, "Local": x.Local, "Minute": x.Minute,
			"Month": x.Month, "Nanosecond": x.Nanosecond, "Round": x.Round, "Second": x.Second, "String": x.String,
			"Sub": x.Sub, "Truncate": x.Truncate, "UTC": x.UTC, "Unix": x.Unix, "UnixMicro": x.UnixMicro,
			"UnixMilli": x.UnixMilli, "UnixNano": x.UnixNano, "Weekday": x.Weekday, "Year": x.Year, "YearDay": x.YearDay,
		}[name]
	case time.Duration:
		return map[string]any{
			"Abs": x.Abs, "Hours": x.Hours, "Microseconds": x.Microseconds, "Milliseconds": x.Milliseconds,
			"Minutes": x.Minutes, "Nanoseconds": x.Nanoseconds, "Round": x.Round, "Seconds": x.Seconds,
			"String": x.String, "Truncate": x.Truncate,
		}[name]
	case time.Month:
		return map[string]any{"String": x.String}[name]
	case time.Weekday:
		return map[string]any{"String": x.String}[name]
	}
	return nil
}
