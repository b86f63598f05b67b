package charts

import (
	"strings"
)

// A recipe is a family of series that make charts together.
type recipe struct {
	// sender is the first name of the paths; empty: any. Ganglia's may also be in its own files,
	// whose only data source is sum.
	sender string
	// tail is the end of the paths, name by name. A * stands for any part of a name, a # for
	// digits; what they stand for is $1, $2 and so on in key and title.
	tail  string
	key   string // what the chart's ID ends with
	title string
	group string
	unit  string
	base  int // 0: 1000
	// from0 and to100 give the limits 0 and 100.
	from0, to100   bool
	stack, percent bool
	style          string // of lines; empty: line
	// The last * of tail tells the parts apart, or the data source if there is none or if bySource
	// is true.
	bySource bool
	parts    []part
	open     bool // parts that are not listed are shown as well
}

// A part is what one line of a recipe shows.
type part struct {
	name   string // what the * stands for, or the data source; empty: any
	label  string // empty: the name
	color  string
	factor float64 // 0: 1
	offset float64
	style  string // empty: that of the recipe
}

// match reports whether a path ends in the tail of the recipe, and returns what each * stands for,
// and what stands before the tail.
func (r *recipe) match(path string) (captures []string, base string, ok bool) {
	path = strings.TrimSuffix(path, ".rrd")
	tail := r.tail
	for {
		i, j := strings.LastIndexByte(tail, '/'), strings.LastIndexByte(path, '/')
		capture, wild, ok := matchName(tail[i+1:], path[j+1:])
		if !ok {
			return nil, "", false
		}
		if wild {
			captures = append([]string{capture}, captures...)
		}
		if i < 0 {
			return captures, path[:max(j, 0)], true
		}
		if j < 0 {
			return nil, "", false
		}
		tail, path = tail[:i], path[:j]
	}
}

// sentBy reports whether a series may be one of a recipe's sender.
func (r *recipe) sentBy(s *Series) bool {
	if r.sender == "" || strings.HasPrefix(s.Path, r.sender) {
		return true
	}
	return r.sender == ganglia && len(s.Sources) == 1 && s.Sources[0].Name == "sum"
}

// matchName matches a name with a pattern that has at most one * or #.
func matchName(pattern, name string) (capture string, wild, ok bool) {
	at := strings.IndexAny(pattern, "*#")
	if at < 0 {
		return "", false, pattern == name
	}
	before, after := pattern[:at], pattern[at+1:]
	if pattern[at] == '#' && leading(name[min(at, len(name)):]) != len(name)-len(before)-len(after) {
		return "", true, false
	}
	if len(name) <= len(before)+len(after) || !strings.HasPrefix(name, before) || !strings.HasSuffix(name, after) {
		return "", true, false
	}
	return name[len(before) : len(name)-len(after)], true, true
}

// expand puts captures in place of $1, $2 and so on.
func expand(text string, captures []string) string {
	for i, c := range captures {
		text = strings.ReplaceAll(text, "$"+digits(i+1), c)
	}
	return text
}

// cook adds a series to the chart of a recipe. It reports false if the recipe has no use for it.
func (b *builder) cook(r *recipe, s *Series, captures []string, base string) bool {
	var lines []Line
	for _, ds := range s.Sources {
		name := ds.Name
		if !r.bySource && len(captures) > 0 {
			name = captures[len(captures)-1]
		}
		if l, ok := r.line(s, ds.Name, name, r.caption(s, name, captures)); ok {
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return false
	}
	id := base + "/" + expand(r.key, captures)
	d := b.draft(strings.TrimPrefix(id, "/"), func() *draft {
		c := Chart{
			Title: expand(r.title, captures), Group: r.group, Unit: r.unit, Base: 1000, Lower: none, Upper: none,
			Stack: r.stack, Percent: r.percent,
		}
		if r.base != 0 {
			c.Base = r.base
		}
		if r.from0 || r.to100 {
			c.Lower = 0
		}
		if r.to100 {
			c.Upper = 100
		}
		return &draft{Chart: c, base: base, rank: rankOf(r.group), place: r.place()}
	})
	d.Lines = append(d.Lines, lines...)
	return true
}

// caption returns the label of a part that the recipe does not name.
func (r *recipe) caption(s *Series, name string, captures []string) string {
	switch {
	case name == "value" || name == "sum":
		return expand(r.title, captures)
	case len(s.Sources) == 1 || r.bySource || len(captures) == 0:
		return name
	}
	return "" // the data source is added
}

// line returns the line of a data source, if the recipe has a part for it.
func (r *recipe) line(s *Series, ds, name, caption string) (Line, bool) {
	l := s.line(ds, caption)
	if caption == "" {
		l.Label = name + " " + ds
	}
	if r.style != "" {
		l.Style = r.style
	}
	for i, p := range r.parts {
		if p.name != name && p.name != "" {
			continue
		}
		l.order, l.Color, l.Offset = i, p.color, p.offset
		if p.label != "" {
			l.Label = p.label
		}
		if p.factor != 0 {
			l.Factor = p.factor
		}
		if p.style != "" {
			l.Style = p.style
		}
		return l, true
	}
	l.order = len(r.parts)
	return l, r.open
}

// place returns the place of a recipe in the table.
func (r *recipe) place() int {
	for i := range recipes {
		if &recipes[i] == r {
			return i
		}
	}
	return len(recipes)
}

// groups is the headings in the order in which they are shown.
var groups = []string{
	"CPU", "Load", "Memory", "Swap", "Network", "Disk", "File systems", "Latency", "Processes", "System", "Storage", "Virtual machine",
}

// rankOf returns the place of a heading. Others come behind, but before the cores of many.
func rankOf(group string) int {
	for i, g := range groups {
		if g == group {
			return i
		}
	}
	if group == groupCores {
		return len(groups) + 1
	}
	return len(groups)
}
