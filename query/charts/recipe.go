package charts

import (
	"strconv"
	"strings"
)

// A recipe is a family of series that make charts together.
type recipe struct {
	// sender is what the paths begin with, such as ganglia/; empty: anything. Ganglia's series may
	// also come from its own files, whose only data source is sum.
	sender string
	// tail is the end of the paths, name by name. A * stands for any part of a name, a # for
	// digits; what they stand for is $1, $2 and so on in key and title.
	tail  string
	key   string // what the chart's ID ends with
	title string
	group string
	unit  string
	base  int // 0: 1000
	// from0 sets the lower limit to 0. to100 sets the limits to 0 and 100.
	from0, to100   bool
	stack, percent bool
	style          string // of lines; empty: line
	// What the last * of tail stands for names the part. The data source names it if tail has no *
	// or if bySource is true.
	bySource bool
	parts    []part
	open     bool // parts that are not listed are shown as well
	place    int  // in the table
}

// A part is what one line of a recipe shows.
type part struct {
	name   string // what the * stands for, or the data source; empty: any
	label  string // empty: the name
	color  string
	factor float64 // 0: 1
	offset float64
	style  string // empty: the style of the recipe
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

// sentBy reports whether a series may come from the recipe's sender.
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
		text = strings.ReplaceAll(text, "$"+strconv.Itoa(i+1), c)
	}
	return text
}

// ganglia is the beginning of the paths of Ganglia's series.
const ganglia = "ganglia/"
