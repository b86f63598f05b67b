package graphdata

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"fmt"
	"strings"
)

// ErrDuration is the error for a format that no duration can be printed with.
var ErrDuration = errors.New("Wrong duration format")

// maxGPRINT is how many bytes of what GPRINT prints are kept.
const maxGPRINT = 197

// Written returns what the lines that draw and print write into a graph, in their order, after Run.
// It differs from [Program.Marks] as rrdtool's graph differs from its xport: numbers have the
// digits of C's printf, valstrftime and valstrfduration hold, and base, 1000 or 1024, scales SI
// prefixes. After Marks a %S is a %s: rrdtool, too, forgets the difference when it has printed
// once.
func (p *Program) Written(base int) ([]Mark, error) {
	out, err := p.texts(base, p.write)
	for i := range out {
		if out[i].Kind == GPRINT {
			out[i].Text = cut(out[i].Text, maxGPRINT)
		}
	}
	return out, err
}

// write returns what PRINT or GPRINT writes into a graph.
func (p *Program) write(x *printed, text string, s *printing) (string, error) {
	names, e := p.options.Names, &p.elems[x.of]
	switch {
	case x.time && e.kind == VDEF && !e.timed:
		return dashesOf(text), nil
	case x.time:
		return names.Strftime(text, s.at), nil
	case x.formatter == "timestamp":
		return names.FormatTimestamp(text, p.printedValue(x)), nil
	case x.formatter == "duration":
		out, ok := FormatDuration(text, p.printedValue(x), p.options.Point)
		if !ok {
			return "", ErrDuration
		}
		return out, nil
	}
	f, ok := ParseCFormat(text, true)
	if !ok {
		return "", BadFormat(strings.Replace(text, "%S", "%s", 1), true) // rrdtool has written it over
	}
	if p.marked && f.prefix == 'S' {
		f.prefix = 's'
	}
	v, prefix := s.scale.of(f.prefix, p.printedValue(x))
	return string(f.Append(nil, v, prefix, p.options.Point)), nil
}

// BadFormat returns the error for a format that no number can be printed with. prefixed is the
// argument of [ParseCFormat].
func BadFormat(text string, prefixed bool) error {
	const number, end = `^(?:[^%]+|%%)*%[-+ 0#]?[0-9]*(?:[.][0-9]+)?l[eEfFgG](?:[^%]+|%%)*`, `$`
	var prefix strings.Builder
	if prefixed {
		prefix.WriteString(`(?:%[sS])?(?:[^%]+|%%)*`)
	}
	return fmt.Errorf("invalid format string '%s' (should match '%s')", text, number+prefix.String()+end)
}
