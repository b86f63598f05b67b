package rrdtool

import (
	"slices"
	"strings"

	"github.com/rondo-db/rondo/query/graphdata"
)

// A section is a group of marks that xport prints beside the columns.
type section struct {
	name  string
	kinds map[graphdata.MarkKind]string
}

// sections are the sections of xport's output, in rrdtool's order. The text of a rule is not
// printed: rrdtool prints 0, or where times have a format the time of a VRULE.
var sections = []section{
	{"prints", map[graphdata.MarkKind]string{graphdata.PRINT: "print"}},
	{"gprints", map[graphdata.MarkKind]string{
		graphdata.GPRINT: "gprint", graphdata.COMMENT: "comment", graphdata.TEXTALIGN: "align",
		graphdata.LINE: "line", graphdata.AREA: "area", graphdata.STACK: "stack",
	}},
	{"rules", map[graphdata.MarkKind]string{graphdata.HRULE: "hrule", graphdata.VRULE: "vrule"}},
}

// entries returns the marks of a section, as pairs of a name and a text.
func (s section) entries(marks []graphdata.Mark, when func(int64) string) (entries [][2]string) {
	for _, m := range marks {
		name, ok := s.kinds[m.Kind]
		if !ok {
			continue
		}
		text := m.Text
		switch m.Kind {
		case graphdata.LINE: // and no other
			text = strings.TrimLeft(text, " \t\n\v\f\r")
		case graphdata.HRULE:
			text = "0.0000000000e+00"
		case graphdata.VRULE:
			if text = "0"; when != nil {
				text = when(int64(m.Drawing.Value))
			}
		}
		entries = append(entries, [2]string{name, text})
	}
	return entries
}

func (x *xporting) marksXML(marks []graphdata.Mark) {
	for _, s := range sections {
		entries := s.entries(marks, x.when)
		if len(entries) == 0 {
			continue
		}
		x.printf("    <%s>\n", s.name)
		for _, e := range entries {
			x.printf("        <%s>%s</%s>\n", e[0], e[1], e[0])
		}
		x.printf("    </%s>\n", s.name)
	}
}

var quotes = strings.NewReplacer(`"`, `\"`, `\`, `\\`)

// unquoted are the entries whose texts rrdtool puts into JSON as they are, quotes included.
var unquoted = []string{"line", "area", "stack"}

// marksJSON prints marks with rrdtool's commas, which are not valid JSON if there is a PRINT. Of
// graph the comma behind prints is there only if something follows, of xport always.
func (x *xporting) marksJSON(marks []graphdata.Mark) {
	var all [][][2]string // of each section
	for _, s := range sections {
		all = append(all, s.entries(marks, x.when))
	}
	for i, s := range sections {
		entries := all[i]
		if len(entries) == 0 {
			continue
		}
		before, after := ",", ""
		if i == 0 {
			before = ""
			if !x.graph || len(all[1])+len(all[2]) > 0 {
				after = ","
			}
		}
		x.printf("    %s\"%s\": [\n", before, s.name)
		for k, e := range entries {
			comma := ","
			if k == len(entries)-1 {
				comma = ""
			}
			text := e[1]
			if !slices.Contains(unquoted, e[0]) {
				text = quotes.Replace(text)
			}
			x.printf("        { \"%s\": \"%s\" }%s\n", e[0], text, comma)
		}
		x.printf("        ]%s\n", after)
	}
}
