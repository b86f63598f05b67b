package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
)

// The limits of a level.
const (
	MaxNodes  = 1000   // nodes of one answer
	maxRanked = 20_000 // nodes of a level that is put in order of activity
)

// receivers is the first names of paths below which hosts stand.
var receivers = []string{"collectd", "ganglia", "mono", "rrdd", "smon"}

// A Node is a child of a folder.
type Node struct {
	Path, Name string
	Series     int64     // at the node and below it
	Last       time.Time // the newest update of these series, or of some of them; zero: none was read
	IsSeries   bool
	IsFolder   bool
	Spark      Spark // what says most about the node
}

// A Level is a page of the children of a folder.
type Level struct {
	Nodes []Node
	Next  string // the page behind this one; empty: this is the last
	Total int    // children on all pages
}

// ErrFolder says that nothing has the path of a folder or is below it.
var ErrFolder = errors.New("no series has this path or is below it")

// ErrPage says that a page is not one that a Level named.
var ErrPage = errors.New("the page is not a next page of this folder and order")

// Level returns a page of the children of a folder. Without a prefix these are hosts: the folders
// below a receiver's name, and every other first name of a path. By activity, those come first that
// were updated in the ten minutes before now, then the hour, the day, the week and the month, each
// in order of their names; a folder with more than 20,000 children stays in order of names. page is
// the Next of the page before, or empty. The error wraps ErrFolder, ErrPage, core.ErrMemory, or is
// one of the store or ctx's.
//
// If within is not nil, nothing else than the folders in it and what is below them is shown. Above
// them, and without a prefix, the children are these folders themselves.
func (x *Index) Level(ctx context.Context, prefix string, activity bool, limit int, page string, now time.Time, within []string) (Level, error) {
	after, err := parsePage(page)
	if err != nil {
		return Level{}, err
	}
	if err := x.enter(ctx); err != nil {
		return Level{}, err
	}
	defer x.leave()
	folder, err := x.folder(prefix)
	if err != nil {
		return Level{}, err
	}
	level := x.tree.level(folder)
	if s := x.tree.scope(within); !s.has(x.tree, folder) {
		if level = s.level(x.tree, folder); folder != 0 && !some(level) {
			return Level{}, fmt.Errorf("%.200q: %w", prefix, ErrFolder)
		}
	}
	var out Level
	for range level {
		out.Total++
	}
	limit = min(max(limit, 1), MaxNodes)
	children := smallest{most: limit + 1, after: after}
	ranked := activity && out.Total <= maxRanked
	seen := 0
	for node, path := range level {
		if seen++; seen%1024 == 0 && ctx.Err() != nil {
			return Level{}, ctx.Err()
		}
		class := 0
		if ranked {
			if class, err = x.rank(node, now); err != nil {
				return Level{}, err
			}
		}
		children.add(node, class, path)
	}
	first := children.sorted()
	if len(first) > limit {
		first = first[:limit]
		out.Next = fmt.Sprintf("%d %s", first[limit-1].class, first[limit-1].path)
	}
	for _, c := range first {
		n, err := x.node(c)
		if err != nil {
			return Level{}, err
		}
		out.Nodes = append(out.Nodes, n)
	}
	return out, ctx.Err()
}

// parsePage returns the last child of the page before: the class of its age, a space and its path.
func parsePage(page string) (child, error) {
	if page == "" {
		return child{class: -1}, nil
	}
	if len(page) < 2 || page[0] < '0' || page[0] >= '0'+ageClasses || page[1] != ' ' {
		return child{}, ErrPage
	}
	return child{class: int(page[0] - '0'), path: page[2:]}, nil
}

// folder returns the node of a prefix.
func (x *Index) folder(prefix string) (uint32, error) {
	node, ok := x.tree.find(prefix)
	if !ok || node != 0 && x.tree.links[node].count == 0 {
		return 0, fmt.Errorf("%.200q: %w", prefix, ErrFolder)
	}
	return node, nil
}

// level yields the children of a folder with their paths, which are valid until the next one is
// yielded. Instead of the children of the root it yields hosts.
func (t *tree) level(folder uint32) iter.Seq2[uint32, []byte] {
	return func(yield func(uint32, []byte) bool) {
		path := []byte(t.path(folder))
		if folder != 0 {
			path = append(path, '/')
		}
		for c := range t.children(folder) {
			name := t.names.bytes(t.name[c])
			if folder != 0 || !slices.Contains(receivers, string(name)) || t.isSeries(c) {
				if !yield(c, append(path, name...)) {
					return
				}
				continue
			}
			hosts := append(append(path, name...), '/')
			for host := range t.children(c) {
				if !yield(host, append(hosts, t.names.bytes(t.name[host])...)) {
					return
				}
			}
		}
	}
}

// A child is a node in a level.
type child struct {
	node  uint32
	class int    // of its age, 0 for the youngest; always 0 in order of names
	path  string // from the top
}

func (c child) compare(d child) int {
	return cmp.Or(cmp.Compare(c.class, d.class), cmp.Compare(c.path, d.path))
}

// A smallest keeps the first children in order behind one.
type smallest struct {
	most  int
	after child
	kept  []child // at most twice as many
	full  bool    // no child behind bound is among the first
	bound child
}

func (s *smallest) add(node uint32, class int, path []byte) {
	if before(class, path, s.after) || s.full && !before(class, path, s.bound) {
		return
	}
	s.kept = append(s.kept, child{node, class, string(path)})
	if len(s.kept) == 2*s.most {
		s.kept = s.sorted()
		s.full, s.bound = true, s.kept[s.most-1]
	}
}

// before reports whether a class and a path are not behind a child.
func before(class int, path []byte, c child) bool {
	return class < c.class || class == c.class && string(path) <= c.path
}

func (s *smallest) sorted() []child {
	slices.SortFunc(s.kept, child.compare)
	return s.kept[:min(len(s.kept), s.most)]
}

// node describes a child.
func (x *Index) node(c child) (Node, error) {
	t := x.tree
	n := Node{
		Path: c.path, Name: t.names.text(t.name[c.node]), Series: int64(t.links[c.node].count),
		IsSeries: t.isSeries(c.node), IsFolder: t.isFolder(c.node),
	}
	var err error
	if n.Last, err = x.last(c.node, lastOf, time.Time{}); err != nil {
		return n, err
	}
	n.Spark, err = x.spark(c.node)
	return n, err
}
