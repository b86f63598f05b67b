package charts

import (
	"slices"
	"strings"
)

// plain adds a series that no recipe takes. Data sources of one folder and one unit stand together.
func (b *builder) plain(s *Series) {
	path := strings.TrimSuffix(s.Path, ".rrd")
	name, stem, instance := names(s)
	folder := strings.TrimSuffix(path[:len(path)-len(name)], "/")
	heading := folder[strings.LastIndexByte(folder, '/')+1:]
	base := folder
	if (strings.HasPrefix(path, "collectd/") || strings.HasPrefix(path, "mono/")) && strings.Count(path, "/") == 3 {
		base = folder[:strings.LastIndexByte(folder, '/')]
	}
	if s.Group != "" {
		heading = words(s.Group)
	}
	for _, ds := range s.Sources {
		u := unitOf(s, stem, ds)
		key, title := s.together(stem, instance, name, base == folder, heading, &u)
		label := name
		switch {
		case instance != "":
			label = instance
		case s.Title != "" && len(s.Sources) == 1:
			label = s.Title
		case key == name && len(s.Sources) > 1:
			label = ds.Name
		}
		if len(s.Sources) > 1 && label != ds.Name {
			label += " " + ds.Name
		}
		l := s.line(ds.Name, label)
		l.Factor = u.factor
		if out, ok := directionOf(ds.Name); ok && hasSource(s, out.other) {
			l.Style, l.Color = styleArea, out.color
			l.Factor *= out.sign
			l.order = out.order
			key, title = name, words(name) // a pair has a chart of its own
		}
		if !u.known && ds.Rate && s.mixed() {
			title += " per second"
		}
		id := strings.TrimPrefix(folder+"/"+key+u.suffix(), "/")
		d := b.draft(id, func() *draft {
			return &draft{base: base, rank: rankOf(heading), Chart: Chart{
				Title: title, Group: heading, Unit: u.text, Base: u.base, Lower: none, Upper: none,
			}, byUnit: key == ""}
		})
		d.Lines = append(d.Lines, l)
	}
}

// names returns the last name of the path of a series, and the type and the instance in it.
func names(s *Series) (name, stem, instance string) {
	path := strings.TrimSuffix(s.Path, ".rrd")
	name = path[strings.LastIndexByte(path, '/')+1:]
	stem = name
	if strings.HasPrefix(path, "collectd/") && strings.Count(path, "/") == 3 {
		stem, instance, _ = strings.Cut(name, "-")
	}
	return name, stem, instance
}

// together returns the key and the title of the chart that a series shares with others. whole says
// that the series lies directly in the folder that the chart is about, such as a host; otherwise
// the title begins with the heading.
func (s *Series) together(stem, instance, name string, whole bool, heading string, u *unit) (key, title string) {
	switch {
	case instance != "":
		return stem, words(stem)
	case !u.known && s.Title != "":
		return name, s.Title
	case !u.known:
		return name, words(name)
	case u.text == "":
		title = "Numbers"
	default:
		title = "Values in " + u.text
	}
	if !whole || s.Group != "" {
		title = words(heading) + ", " + strings.ToLower(title[:1]) + title[1:]
	}
	return "", title
}

// mixed reports whether some data sources of a series are rates and others are not.
func (s *Series) mixed() bool {
	return slices.ContainsFunc(s.Sources, func(ds Source) bool { return ds.Rate != s.Sources[0].Rate })
}

// A direction is one of two data sources that are shown above and below zero.
type direction struct {
	other string // the other one of the two
	sign  float64
	color string
	order int
}

// directions lists pairs of names of data sources. The first is shown above zero, the second below.
var directions = [][2]string{{"rx", "tx"}, {"in", "out"}, {"read", "write"}, {"received", "sent"}, {"ds_in", "ds_out"}, {"traffic_in", "traffic_out"}}

// directionOf returns the direction of a data source, if its name is one of a pair.
func directionOf(name string) (direction, bool) {
	for _, p := range directions {
		switch name {
		case p[0]:
			return direction{p[1], 1, green, 0}, true
		case p[1]:
			return direction{p[0], -1, blue, 1}, true
		}
	}
	return direction{}, false
}

func hasSource(s *Series, name string) bool {
	return slices.ContainsFunc(s.Sources, func(ds Source) bool { return ds.Name == name })
}

func words(name string) string {
	out := strings.TrimSpace(strings.ReplaceAll(name, "_", " "))
	if out == "" {
		return name
	}
	return strings.ToUpper(out[:1]) + out[1:]
}
