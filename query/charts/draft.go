package charts

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// The most lines of a chart. A chart with more becomes several.
const (
	maxLines   = 12
	maxStacked = 16
)

// A draft is a chart that is being filled with lines.
type draft struct {
	Chart
	base  string // the folder that the chart is about, such as a host
	rank  int    // of its group
	place int    // among the charts of its group
	about string // what its title ends with: the part of base that is below the folder
	// byUnit says that the title has only the unit; a line that stands alone gives a better one.
	byUnit bool

	labels  [][]Label // of the lines of a metric
	several bool      // one of its series has several data sources
}

// A builder collects drafts by their IDs.
type builder struct {
	folder string // of the series at hand
	drafts map[string]*draft
}

// draft returns the draft of an ID, and makes it if it is new.
func (b *builder) draft(id string, make func() *draft) *draft {
	d := b.drafts[id]
	if d == nil {
		d = make()
		d.ID = id
		if rest := below(d.base, b.folder); rest != "" {
			d.about = ", " + rest
		}
		b.drafts[id] = d
	}
	return d
}

// below returns the part of a path behind a prefix, or "" if the path is not below the prefix.
func below(path, prefix string) string {
	if prefix == "" {
		return path
	}
	rest, ok := strings.CutPrefix(path, prefix+"/")
	if !ok {
		return ""
	}
	return rest
}

// sorted returns the drafts in the order in which they are shown.
func (b *builder) sorted() []*draft {
	out := make([]*draft, 0, len(b.drafts))
	for _, d := range b.drafts {
		out = append(out, d)
	}
	slices.SortFunc(out, func(x, y *draft) int {
		return cmp.Or(natural(x.about, y.about), cmp.Compare(x.rank, y.rank), natural(x.Group, y.Group), cmp.Compare(x.place, y.place),
			natural(x.Title, y.Title), strings.Compare(x.ID, y.ID))
	})
	return out
}

// charts returns the draft as a chart, or as several if it has too many lines for one.
func (d *draft) charts() []Chart {
	slices.SortStableFunc(d.Lines, func(x, y Line) int { return cmp.Or(cmp.Compare(x.order, y.order), natural(x.Label, y.Label)) })
	if d.byUnit && len(d.Lines) == 1 {
		d.Title = words(d.Lines[0].Label)
	}
	d.Title += d.about
	most := maxLines
	if d.Stack {
		most = maxStacked
	}
	pages := (len(d.Lines) + most - 1) / most
	var out []Chart
	for i := range pages {
		c := d.Chart
		n := (len(d.Lines) + pages - 1) / pages
		c.Lines = slices.Clone(d.Lines[min(i*n, len(d.Lines)):min((i+1)*n, len(d.Lines))])
		if pages > 1 {
			c.ID += "#" + strconv.Itoa(i+1)
			c.Title += " (" + strconv.Itoa(i+1) + " of " + strconv.Itoa(pages) + ")"
		}
		c.finish()
		out = append(out, c)
	}
	return out
}

// finish gives colours to the lines that have none, and a band to a line that stands alone.
func (c *Chart) finish() {
	used := 0
	for i := range c.Lines {
		l := &c.Lines[i]
		if l.Color == "" {
			l.Color = palette[used%len(palette)]
			used++
		}
		if len(c.Lines) == 1 && !c.Stack && l.Style == styleLine && l.MaxCF != "" && l.MinCF != "" {
			l.Style = styleBand
		}
	}
}

// groups lists the headings in the order in which they are shown.
var groups = []string{
	groupSamples, "CPU", "Load", "Memory", "Swap", "Network", "Disk", "File systems", "Latency", "Processes", "System", "Storage", "Virtual machine",
}

// rankOf returns the place of a heading. Headings that groups lacks come behind it, groupCores
// last.
func rankOf(group string) int {
	if i := slices.Index(groups, group); i >= 0 {
		return i
	}
	if group == groupCores {
		return len(groups) + 1
	}
	return len(groups)
}

// groupCores is the heading of the charts of single cores on a host that has many.
const groupCores = "CPU by core"
