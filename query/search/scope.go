package search

import "iter"

// A scope is the part of a tree that an answer is about: some folders and what is below them. The
// nil scope is the whole tree.
type scope []scopeNode

// A scopeNode is a folder of a scope, or the series of the same path that ends in .rrd. Nothing
// below such a series belongs to the scope.
type scopeNode struct {
	node  uint32
	alone bool
}

// scope returns the scope of some folders; nil if they are nil.
func (t *tree) scope(folders []string) scope {
	if folders == nil {
		return nil
	}
	s := scope{}
	for _, f := range folders {
		if node, ok := t.find(f); ok && node != 0 {
			s = append(s, scopeNode{node, false})
		}
		if node, ok := t.find(f + ".rrd"); ok && t.isSeries(node) && !t.isFolder(node) {
			s = append(s, scopeNode{node, true})
		}
	}
	return s
}

func (s scope) has(t *tree, node uint32) bool {
	if s == nil {
		return true
	}
	for at := node; at != 0; at = t.parent[at] {
		for _, n := range s {
			if n.node == at && (!n.alone || at == node) {
				return true
			}
		}
	}
	return false
}

// level yields those nodes of the scope that are below a folder, with their paths.
func (s scope) level(t *tree, folder uint32) iter.Seq2[uint32, []byte] {
	return func(yield func(uint32, []byte) bool) {
		for _, n := range s {
			if t.links[n.node].count > 0 && t.isBelow(n.node, folder) && !yield(n.node, []byte(t.path(n.node))) {
				return
			}
		}
	}
}

func (t *tree) isBelow(node, folder uint32) bool {
	for node != 0 {
		if node = t.parent[node]; node == folder {
			return true
		}
	}
	return false
}

// some reports whether a level has a child.
func some(level iter.Seq2[uint32, []byte]) bool {
	for range level {
		return true
	}
	return false
}
