package graphdata

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"fmt"
	"strings"
)

// A line is a function and its arguments, FUNCTION:argument:KEY=argument, which
// are taken by key or one after the other.
type line struct {
	text     string // as it was given
	function string
	args     []argument
}

type argument struct {
	text       string // `\:` is a colon, and no end
	key, value string
	keyed      bool
	taken      bool
}

func parseLine(text string) *line {
	l := &line{text: text}
	var word []byte
	first := true
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
		if first {
			l.function, first = string(word), false
		} else {
			a := argument{text: string(word)}
			a.key, a.value, a.keyed = strings.Cut(a.text, "=")
			if !a.keyed {
				a.key, a.value = "", a.text
			}
			l.args = append(l.args, a)
		}
		if i < 0 {
			return l
		}
		word, rest = word[:0], rest[i+1:]
	}
}

// byKey takes the last argument of a key, or returns nil.
func (l *line) byKey(key string) *argument {
	for i := len(l.args) - 1; i >= 0; i-- {
		if a := &l.args[i]; a.keyed && a.key == key && !a.taken {
			a.taken = true
			return a
		}
	}
	return nil
}

// next takes the first argument that is left, or returns nil. Callers decide whether a key in it
// means something.
func (l *line) next() *argument {
	for i := range l.args {
		if a := &l.args[i]; !a.taken {
			a.taken = true
			return a
		}
	}
	return nil
}

// take takes an argument by key, or else the next.
func (l *line) take(key string) *argument {
	if a := l.byKey(key); a != nil {
		return a
	}
	return l.next()
}

// done reports what was not taken.
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
