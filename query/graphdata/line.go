package graphdata

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A line is a function and its arguments, FUNCTION:argument:KEY=argument. Arguments are taken by
// key, or in order.
type line struct {
	text     string // as it was given
	function string
	args     []argument
}

type argument struct {
	text       string // with `\:` replaced by a colon
	key, value string // an argument without a key has the key "pos" and its number, from 0
	keyed      bool
	taken      bool
}

// parseLine splits a line. The function is the argument with the key cmd, or else the first
// argument without a key.
func parseLine(text string) (*line, error) {
	l := &line{text: text}
	var word []byte
	positions := 0
	for rest := text; ; {
		i := strings.IndexByte(rest, ':')
		if i > 0 && rest[i-1] == '\\' {
			word = append(append(word, rest[:i-1]...), ':')
			rest = rest[i+1:]
			continue
		}
		if i < 0 {
			word = append(word, rest...)
		} else {
			word = append(word, rest[:i]...)
		}
		a := argument{text: string(word)}
		if a.key, a.value, a.keyed = strings.Cut(a.text, "="); !a.keyed {
			a.key, a.value = "pos"+strconv.Itoa(positions), a.text
			positions++
		}
		l.args = append(l.args, a)
		if i < 0 {
			break
		}
		word, rest = word[:0], rest[i+1:]
	}
	f := l.byKey("cmd")
	for i := 0; f == nil && i < len(l.args); i++ {
		if !l.args[i].keyed {
			f = &l.args[i]
		}
	}
	if f == nil {
		return nil, fmt.Errorf("no command set in argument %s", text)
	}
	f.taken = true
	l.function = f.value
	for i := 1; i < len(l.args); i++ {
		a := &l.args[i]
		if k, ok := keywords[a.text]; ok && !a.taken {
			a.key, a.value, a.keyed = k[0], k[1], true
		}
	}
	return l, nil
}

// keywords are words that stand for an argument with a key and a value.
var keywords = map[string][2]string{
	"STACK":           {"stack", "1"},
	"skipscale":       {"skipscale", "1"},
	"dashes":          {"dashes", "5,5"},
	"strftime":        {"strftime", "1"},
	"valstrftime":     {"vformatter", "timestamp"},
	"valstrfduration": {"vformatter", "duration"},
}

// byKey takes the last argument of a key. It returns nil if none is left.
func (l *line) byKey(key string) *argument {
	for i := len(l.args) - 1; i >= 0; i-- {
		if a := &l.args[i]; a.key == key && !a.taken {
			a.taken = true
			return a
		}
	}
	return nil
}

// next takes the first argument that is left, or returns nil. The argument may have a key; the
// caller decides whether the key means something.
func (l *line) next() *argument {
	for i := range l.args {
		if a := &l.args[i]; !a.taken {
			a.taken = true
			return a
		}
	}
	return nil
}

// or returns an argument that was taken by its key, or takes the next one if that is nil. missing
// is the error if none is left.
func (l *line) or(a *argument, missing string) (*argument, error) {
	if a == nil {
		a = l.next()
	}
	if a == nil {
		return nil, errors.New(missing)
	}
	return a, nil
}

// done returns an error if arguments are left.
func (l *line) done() error {
	var left []string
	for _, a := range l.args {
		if !a.taken {
			left = append(left, a.text)
		}
	}
	if left == nil {
		return nil
	}
	return fmt.Errorf("Unused Arguments \"%s\" in command : %s", strings.Join(left, ":"), l.text)
}

// whole returns the value of an argument that has this key, or the whole text of any other.
func (a *argument) whole(key string) string {
	if a.keyed && a.key == key {
		return a.value
	}
	return a.text
}

func cut(text string, n int) string {
	if len(text) > n {
		return text[:n]
	}
	return text
}
