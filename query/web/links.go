package web

import (
	"net/url"
	"strconv"
	"strings"
)

// GraphPath is what the paths of graphs begin with. The format follows.
const GraphPath = "/graph."

// UpdatesPath is the address at which consumers of XenServer's rrdd ask for what is new.
const UpdatesPath = "/rrd_updates"

// Draws reports whether requests for a path draw a graph, or read as much. They wait for their
// turn, so they should not take the places of other requests meanwhile.
func Draws(path string) bool { return strings.HasPrefix(path, GraphPath) || path == UpdatesPath }

// pathLink returns the address of the page of a series or of a folder of series: kind is "series"
// or "host".
func pathLink(kind, path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return "/" + kind + "/" + strings.Join(parts, "/")
}

// graphLink returns the address of a graph.
func graphLink(format string, args []string, from, to string, width, height int) string {
	v := url.Values{"arg": args}
	if from != "" {
		v.Set("from", from)
	}
	if to != "" {
		v.Set("to", to)
	}
	v.Set("width", strconv.Itoa(width))
	v.Set("height", strconv.Itoa(height))
	return GraphPath + format + "?" + v.Encode()
}

// A span is a length of time that plain pages show, up to now.
type span struct{ Name, From string }

var spans = []span{{"hour", "-1h"}, {"day", "-1day"}, {"week", "-1week"}, {"month", "-1month"}, {"year", "-1year"}}

// escapeColons makes a text an argument of a line of the graph language.
var escapeColons = strings.NewReplacer(":", `\:`)

// An image is a picture in a page.
type image struct{ Title, Link, Alt string }

// darkLink returns the address of the picture at link for a dark page.
func darkLink(link string) string { return link + "&theme=dark" }

// images returns pictures of one graph, which is called name: of all spans if row is set, or of the
// range from to to.
func images(name string, args []string, from, to string, row bool) (all []image) {
	if row {
		for _, s := range spans {
			all = append(all, image{s.Name, graphLink("svg", args, s.From, "", 300, 100), name + ", the last " + s.Name})
		}
		return all
	}
	return []image{{"", graphLink("svg", args, from, to, 700, 150), "graph of " + name}}
}

// A choice is a link in the row of ranges of a page.
type choice struct {
	Name, Link string
	On         bool
}

// choices returns the links of a page to itself with other ranges. at is the page's address without
// a range.
func choices(at, from string, row bool) (all []choice) {
	if strings.Contains(at, "?") {
		at += "&"
	} else {
		at += "?"
	}
	for _, s := range spans {
		all = append(all, choice{s.Name, at + "from=" + s.From, !row && s.From == from})
	}
	return append(all, choice{"all", at + "row=all", row})
}
