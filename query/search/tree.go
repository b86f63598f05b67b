package search

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
)

const (
	maxExtra = 1 << 10 // bytes of labels, unit and description kept of a series
	maxDepth = 255     // what is noted as the depth of a node
)

// A tree is the paths of series as nodes. Node 0 is the root. A parent has a lower number than its
// children, so that a walk in the order of the numbers meets it first. A node whose series are gone
// stays, with a count of 0, and is used again for the same path.
type tree struct {
	names  texts    // of nodes
	extras texts    // texts of series that their paths lack
	table  hashed   // nodes by parent and name
	parent []uint32 // of a node
	name   []uint32 // in names
	extra  []uint32 // 0: no series; 1: a series without extra text; else the text's number plus 1
	depth  []uint8  // names in the path of a node, at most maxDepth
	links  []link
	hosts  hostTable
	series int
	// nodes without series, and texts in extras that series have lost, at most
	dead, replaced int
}

// A link holds the fields of a node that a walk through all nodes does not need.
type link struct {
	ref         core.Ref
	count       uint32 // series at the node and below it
	first, next uint32 // the first child, the next child of the same parent; 0: none
}

func newTree() *tree {
	return &tree{parent: []uint32{0}, name: []uint32{0}, extra: []uint32{0}, depth: []uint8{0}, links: []link{{}}, dead: 1, hosts: newHostTable()}
}

func (t *tree) isSeries(node uint32) bool { return t.extra[node] != 0 }

// child returns the child of a node by name, or 0.
func (t *tree) child(node, name uint32) uint32 {
	return t.table.find(hashNode(node, name), func(id uint32) bool { return t.parent[id] == node && t.name[id] == name })
}

// secrets are the seed of hashNode.
var secrets = [2]uint64{rand.Uint64(), rand.Uint64()}

func hashNode(parent, name uint32) uint64 {
	high, low := bits.Mul64(uint64(parent)^secrets[0], uint64(name)^secrets[1])
	return high ^ low
}

// find returns the node of a path. It may have no series any more.
func (t *tree) find(path string) (uint32, bool) {
	node := uint32(0)
	for name := range segments(path) {
		id := t.names.id(name)
		if id == 0 {
			return 0, false
		}
		if node = t.child(node, id); node == 0 {
			return 0, false
		}
	}
	return node, true
}

// segments yields the parts of a path that are not empty.
func segments(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range strings.SplitSeq(path, "/") {
			if name != "" && !yield(name) {
				return
			}
		}
	}
}

// room returns an error if a path of n bytes may not fit.
func (t *tree) room(n int) error {
	full := func(has, more int) bool { return int64(has)+int64(more) > maxTextBytes } // for 32 bits
	if full(len(t.names.folded), 4*n) || full(len(t.extras.folded), 4*n+4*maxExtra) || full(len(t.parent), n) {
		return fmt.Errorf("search: the names of %d series take more than an index can hold: %w", t.series, core.ErrMemory)
	}
	return nil
}

// add puts a series into the tree, or changes its reference, its extra text and its host.
func (t *tree) add(path, extra string, labels []core.Label, ref core.Ref) error {
	if err := t.room(len(path)); err != nil {
		return err
	}
	node := uint32(0)
	for name := range segments(path) {
		id := t.names.add(name)
		next := t.child(node, id)
		if next == 0 {
			next = t.grow(node, id)
		}
		node = next
	}
	if node == 0 {
		return nil
	}
	if !t.isSeries(node) {
		t.counted(node, 1)
	}
	if t.extra[node] > 1 && extra != t.extras.text(t.extra[node]-1) {
		t.replaced++
	}
	t.links[node].ref = ref
	t.extra[node] = 1
	if extra != "" {
		t.extra[node] = t.extras.add(extra) + 1
	}
	t.place(node, path, labels)
	return nil
}

// grow adds a node.
func (t *tree) grow(parent, name uint32) uint32 {
	node := uint32(len(t.parent))
	t.parent, t.name, t.extra = append(t.parent, parent), append(t.name, name), append(t.extra, 0)
	t.depth = append(t.depth, uint8(min(int(t.depth[parent])+1, maxDepth)))
	t.links = append(t.links, link{next: t.links[parent].first})
	t.links[parent].first = node
	t.dead++ // until it is counted
	t.table.add(hashNode(parent, name), node, func(id uint32) uint64 { return hashNode(t.parent[id], t.name[id]) })
	return node
}

// remove takes a series out of the tree, and reports whether it was in it.
func (t *tree) remove(path string) bool {
	node, ok := t.find(path)
	if !ok || !t.isSeries(node) {
		return false
	}
	if t.extra[node] > 1 {
		t.replaced++
	}
	t.extra[node] = 0
	t.links[node].ref = 0
	t.counted(node, ^uint32(0))
	return true
}

// counted adds n, which may be -1, to the series of a node and of those above it.
func (t *tree) counted(node, n uint32) {
	t.series += int(int32(n))
	for {
		switch was := t.links[node].count; {
		case was == 0:
			t.dead--
		case was+n == 0:
			t.dead++
		}
		t.links[node].count += n
		if node == 0 {
			return
		}
		node = t.parent[node]
	}
}

// children yields the children of a node that have series at or below them.
func (t *tree) children(node uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for c := t.links[node].first; c != 0; c = t.links[c].next {
			if t.links[c].count > 0 && !yield(c) {
				return
			}
		}
	}
}

// isFolder reports whether there are series below a node.
func (t *tree) isFolder(node uint32) bool {
	n := t.links[node].count
	return n > 1 || n == 1 && !t.isSeries(node)
}

func (t *tree) path(node uint32) string {
	var names []string
	for ; node != 0; node = t.parent[node] {
		names = append(names, t.names.text(t.name[node]))
	}
	slices.Reverse(names)
	return strings.Join(names, "/")
}

// comparePaths compares the paths of two nodes as strings. Paths of as many names are compared from
// the names on in which they differ.
func (t *tree) comparePaths(a, b uint32) int {
	if a == b {
		return 0
	}
	if t.depth[a] != t.depth[b] || t.depth[a] == maxDepth {
		return strings.Compare(t.path(a), t.path(b))
	}
	last := true
	for t.parent[a] != t.parent[b] {
		a, b, last = t.parent[a], t.parent[b], false
	}
	x, y := t.names.bytes(t.name[a]), t.names.bytes(t.name[b])
	n := min(len(x), len(y))
	if c := bytes.Compare(x[:n], y[:n]); c != 0 || last {
		return cmp.Or(c, cmp.Compare(len(x), len(y)))
	}
	// One name begins with the other one, behind which comes a slash.
	if len(x) > n {
		return cmp.Compare(x[n], '/')
	}
	return cmp.Compare('/', y[n])
}

// below yields up to n series at and below a node: from each child some.
func (t *tree) below(node uint32, n int) []uint32 {
	var out []uint32
	var walk func(node uint32, n int)
	walk = func(node uint32, n int) {
		most := len(out) + n
		if t.isSeries(node) {
			out = append(out, node)
		}
		children := 0
		for range t.children(node) {
			if children++; children == n {
				break
			}
		}
		for c := range t.children(node) {
			if len(out) >= most {
				return
			}
			walk(c, min(most-len(out), (n+children-1)/children))
		}
	}
	walk(node, n)
	return out
}

// memory returns the bytes that the tree takes.
func (t *tree) memory() int64 {
	const perLink = 24
	return t.names.memory() + t.extras.memory() + t.hosts.memory() + int64(4*cap(t.table.slots)) +
		int64(4*cap(t.parent)+4*cap(t.name)+4*cap(t.extra)+cap(t.depth)+perLink*cap(t.links))
}

// wasteful reports whether so much of the tree belongs to series that are gone, or to texts that
// were replaced, that it should be made anew.
func (t *tree) wasteful() bool {
	return t.dead > 100_000 && t.dead > len(t.parent)/2 || t.replaced > 100_000+t.series
}
