package search

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
)

// maxParts is how many names a pattern may have: a bit of a word each, and one for the end.
const maxParts = 30

// labelWord is a word that compares a label.
var labelWord = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=(.+)$`)

// isMatch reports whether a text has patterns.
func isMatch(text string) bool {
	return slices.ContainsFunc(strings.Fields(text), func(w string) bool { return isGlob(w) || labelWord.MatchString(w) })
}

func isGlob(w string) bool { return strings.ContainsAny(w, "*?") }

// match returns series that a text with patterns describes, most of them at most, and how many
// there are.
func (x *Index) match(ctx context.Context, text string, most int, within []string) (hits []Hit, found int, err error) {
	m, err := parseMatch(text)
	if err != nil {
		return nil, 0, err
	}
	if err := x.enter(ctx); err != nil {
		return nil, 0, err
	}
	defer x.leave()
	b := best{tree: x.tree, scope: x.tree.scope(within), most: min(max(most, 1), MaxHits)}
	if len(m.labels) > 0 {
		err = x.matchLabels(ctx, m, &b)
	} else {
		err = x.matchPaths(ctx, m, &b)
	}
	if err != nil {
		return nil, 0, err
	}
	for _, f := range b.sorted() {
		hits = append(hits, Hit{Path: x.tree.path(f.node)})
	}
	return hits, b.seen, nil
}

// A match is what a text with patterns describes.
type match struct {
	labels []core.Matcher
	words  query
	parts  []*regexp.Regexp // of the pattern; nil is any number of names
}

func parseMatch(text string) (*match, error) {
	if _, err := parseQuery(text); err != nil { // it has the limits of words
		return nil, err
	}
	m := &match{}
	for w := range strings.FieldsSeq(text) {
		label := labelWord.FindStringSubmatch(w)
		switch {
		case label != nil && isGlob(label[2]):
			m.labels = append(m.labels, core.Matcher{Name: label[1], Op: core.MatchRegexp, Regexp: glob(label[2], "(?s:.*)", "(?s:.)")})
		case label != nil:
			m.labels = append(m.labels, core.Matcher{Name: label[1], Value: label[2]})
		case !isGlob(w):
			m.words = append(m.words, strings.ToLower(w))
		case m.parts != nil:
			return nil, fmt.Errorf("%w: more than one pattern", ErrQuery)
		default:
			m.parts = append(m.parts, nil) // any names before it
			for part := range segments(strings.ToLower(w)) {
				switch {
				case part != "**":
					m.parts = append(m.parts, glob(part, ".*", "."))
				case m.parts[len(m.parts)-1] != nil:
					m.parts = append(m.parts, nil)
				}
			}
			if len(m.parts) > maxParts {
				return nil, fmt.Errorf("%w: a pattern of more than %d names", ErrQuery, maxParts-1)
			}
		}
	}
	return m, nil
}

// glob returns an expression of a whole text in which * and ? stand for what is given.
func glob(text, star, one string) *regexp.Regexp {
	quoted := strings.NewReplacer(`\*`, star, `\?`, one).Replace(regexp.QuoteMeta(text))
	return regexp.MustCompile("^(?:" + quoted + ")$")
}

// begin returns the places of the pattern before the first name of a path: bit i is set if i parts
// are behind.
func (m *match) begin() uint32 { return m.skip(1) }

// skip adds the places behind parts that may stand for no name.
func (m *match) skip(at uint32) uint32 {
	for i, p := range m.parts {
		if p == nil {
			at |= at & (1 << i) << 1
		}
	}
	return at
}

// next returns the places behind a name that fits some parts.
func (m *match) next(at, fits uint32) uint32 {
	var out uint32
	for i, p := range m.parts {
		switch bit := at & (1 << i); {
		case p == nil:
			out |= bit
		case fits&bit != 0:
			out |= bit << 1
		}
	}
	return m.skip(out)
}

// fits returns the parts that a name fits, which is in lower case.
func (m *match) fits(name []byte) (parts uint32) {
	for i, p := range m.parts {
		if p != nil && p.Match(name) {
			parts |= 1 << i
		}
	}
	return parts
}

// end reports whether a path ends where the pattern does, if there is one.
func (m *match) end(at uint32) bool { return len(m.parts) == 0 || at&(1<<len(m.parts)) != 0 }

// has reports whether a path has all words.
func (m *match) has(t *tree, node uint32) bool {
	if len(m.words) == 0 {
		return true
	}
	path := strings.ToLower(t.path(node))
	return !slices.ContainsFunc(m.words, func(w string) bool { return !strings.Contains(path, w) })
}

// matchPaths walks all nodes. Each name is compared once, wherever it stands.
func (x *Index) matchPaths(ctx context.Context, m *match, b *best) error {
	t := x.tree
	if err := x.makeRoom(); err != nil {
		return err
	}
	names, masks := x.inName[:t.names.len()+1], x.masks[:len(t.parent)]
	for id := 1; id < len(names); id++ {
		names[id] = m.fits(t.names.fold(uint32(id)))
		if id%ctxEach == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	masks[0] = m.begin()
	for i := 1; i < len(masks); i++ {
		if i%ctxEach == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		above := masks[t.parent[i]]
		if masks[i] = 0; above != 0 {
			masks[i] = m.next(above, names[t.name[i]])
		}
		if node := uint32(i); m.end(masks[i]) && t.isSeries(node) && m.has(t, node) {
			b.add(node, 0)
		}
	}
	return nil
}

// matchLabels reads the series that have the labels.
func (x *Index) matchLabels(ctx context.Context, m *match, b *best) error {
	for s, err := range x.store.Select(ctx, core.Query{Matchers: m.labels}) {
		if errors.Is(err, core.ErrDamaged) {
			continue // the others are found
		}
		if err != nil {
			return err
		}
		node, ok := x.tree.find(s.Path)
		if !ok || !x.tree.isSeries(node) || !m.has(x.tree, node) { // made or dropped meanwhile
			continue
		}
		at := m.begin()
		for name := range segments(strings.ToLower(s.Path)) {
			at = m.next(at, m.fits([]byte(name)))
		}
		if m.end(at) {
			b.add(node, 0)
		}
	}
	return nil
}

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
