package search

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
)

// The limits of a level.
const (
	MaxNodes = 1000 // nodes of one answer
	lastOf   = 100  // series of a node whose last updates are its own
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

// Level returns a page of the children of a folder, in order of their paths, or of the folders of a
// host. Without a prefix these are the folders below a receiver's name, and every other first name
// of a path. page is the Next of the page before, or empty. The error wraps ErrFolder, ErrPage,
// core.ErrMemory, or is one of the store or ctx's.
//
// If within is not nil, nothing else than the folders in it and what is below them is shown. Above
// them, and without a prefix, the children are these folders themselves.
func (x *Index) Level(ctx context.Context, prefix string, limit int, page string, within []string) (Level, error) {
	after, ok := strings.CutPrefix(page, pageMark)
	if page != "" && !ok {
		return Level{}, ErrPage
	}
	if err := x.enter(ctx); err != nil {
		return Level{}, err
	}
	defer x.leave()
	level, err := x.below(prefix, within)
	if err != nil {
		return Level{}, err
	}
	var out Level
	for range level {
		out.Total++
	}
	limit = min(max(limit, 1), MaxNodes)
	children := smallest{most: limit + 1, after: after}
	seen := 0
	for node, path := range level {
		if seen++; seen%1024 == 0 && ctx.Err() != nil {
			return Level{}, ctx.Err()
		}
		children.add(node, path)
	}
	first := children.sorted()
	if len(first) > limit {
		first = first[:limit]
		out.Next = pageMark + first[limit-1].path
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

// pageMark begins the name of a page, before the path of the last child of the page before.
const pageMark = "after "

// below returns the children of a folder, or the folders of a host whose folder is another one.
func (x *Index) below(prefix string, within []string) (iter.Seq2[uint32, []byte], error) {
	t, s := x.tree, x.tree.scope(within)
	if anchors := t.anchorsOf(prefix); len(anchors) > 0 && (len(anchors) > 1 || t.path(anchors[0]) != prefix) {
		if level := t.folders(anchors, s); some(level) {
			return level, nil
		}
	}
	folder, err := x.folder(prefix)
	if err != nil || s.has(t, folder) {
		return t.level(folder), err
	}
	level := s.level(t, folder)
	if folder != 0 && !some(level) {
		return nil, fmt.Errorf("%.200q: %w", prefix, ErrFolder)
	}
	return level, nil
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
	node uint32
	path string // from the top
}

func (c child) compare(d child) int { return strings.Compare(c.path, d.path) }

// A smallest keeps the first children in order behind a path.
type smallest struct {
	most  int
	after string
	kept  []child // at most twice as many
	full  bool    // no child behind bound is among the first
	bound string
}

func (s *smallest) add(node uint32, path []byte) {
	if string(path) <= s.after || s.full && string(path) > s.bound {
		return
	}
	s.kept = append(s.kept, child{node, string(path)})
	if len(s.kept) == 2*s.most {
		s.kept = s.sorted()
		s.full, s.bound = true, s.kept[s.most-1].path
	}
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
	if n.Last, err = x.last(c.node); err != nil {
		return n, err
	}
	n.Spark, err = x.spark(c.node)
	return n, err
}

// last returns the newest update of series at and below a node.
func (x *Index) last(node uint32) (newest time.Time, err error) {
	for _, s := range x.tree.below(node, lastOf) {
		at, err := core.Last(context.Background(), x.store, x.tree.links[s].ref)
		switch {
		case errors.Is(err, core.ErrNotFound), errors.Is(err, core.ErrDamaged): // dropped, or lost
		case err != nil:
			return newest, err
		case at > 0 && at.Std().After(newest):
			newest = at.Std()
		}
	}
	return newest, nil
}
