package search

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// The limits of a search.
const (
	MaxWords = 8       // words of one search
	MaxWord  = 256     // bytes of one word
	MaxHits  = 200     // hits of one answer
	ctxEach  = 1 << 16 // nodes after which the context is looked at
)

// ErrQuery says that a search cannot be made of a text.
var ErrQuery = errors.New("search")

// A Hit is a series or a folder that fits.
type Hit struct {
	Path   string
	Folder bool // Path is a folder of series; it may be a series as well
}

// How well a word fits a name. A better fit has all bits of the worse ones: the union of two fits
// is the better one, and the number of bits ranks them.
const (
	fitsText   = 0b0001 // only a label, unit or description has the word
	fitsInside = 0b0011
	fitsPrefix = 0b0111
	fitsWhole  = 0b1111
)

// Search returns the best hits for the words of a text: folders first, then series. A folder
// fits if its path has all words and the path above it lacks one. found is how many hits there
// are in all. Words with * or ? and words as LABEL=VALUE are patterns: then the hits are series
// that all of them describe. A pattern is the end of a path from any of its names on: * stands
// for what may be in a name, ? for one character, and ** for any number of names; in the value
// of a label * is anything. Case matters in values of labels only. If a text without * and ? finds
// nothing by labels, its words are looked for as others are: names have = in them, too. The error
// wraps ErrQuery if the text has too many or too long words, and core.ErrMemory if the names do not
// fit into the store's budget. The hits are at and below the folders in within, or anywhere if it
// is nil.
func (x *Index) Search(ctx context.Context, text string, limit int, within []string) (hits []Hit, found int, err error) {
	if isMatch(text) {
		hits, found, err = x.match(ctx, text, limit, within)
		if found > 0 || err != nil || isGlob(text) {
			return hits, found, err
		}
	}
	q, err := parseQuery(text)
	if err != nil || len(q) == 0 {
		return nil, 0, err
	}
	if err := x.enter(ctx); err != nil {
		return nil, 0, err
	}
	defer x.leave()
	limit = min(max(limit, 1), MaxHits)
	s := x.tree.scope(within)
	folders, series := best{tree: x.tree, scope: s, most: max(limit/4, 1)}, best{tree: x.tree, scope: s, most: limit}
	if err := x.scan(ctx, q, &folders, &series); err != nil {
		return nil, 0, err
	}
	for _, f := range folders.sorted() {
		hits = append(hits, Hit{x.tree.path(f.node), true})
	}
	for _, f := range series.sorted() {
		if len(hits) == limit {
			break
		}
		hits = append(hits, Hit{Path: x.tree.path(f.node)})
	}
	return hits, folders.seen + series.seen, nil
}

// A query is the words of a search, in lower case.
type query []string

func parseQuery(text string) (query, error) {
	if len(text) > MaxWords*(MaxWord+1)*2 {
		return nil, fmt.Errorf("%w: a text of %d bytes", ErrQuery, len(text))
	}
	var q query
	for w := range strings.FieldsSeq(strings.ToLower(text)) {
		switch {
		case len(w) > MaxWord:
			return nil, fmt.Errorf("%w: a word of %d bytes, at most %d are possible", ErrQuery, len(w), MaxWord)
		case slices.Contains(q, w):
		case len(q) == MaxWords:
			return nil, fmt.Errorf("%w: more than %d words", ErrQuery, MaxWords)
		default:
			q = append(q, w)
		}
	}
	return q, nil
}

// need returns the bits of a node that fits all words.
func (q query) need() uint32 { return 0x11111111 >> (4 * (MaxWords - len(q))) }

// rarest returns the indices of the words, the longest first: if nothing has it, the others need
// not be looked for.
func (q query) rarest() []int {
	order := make([]int, len(q))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(q[b]), len(q[a])) })
	return order
}

// scan walks all nodes and collects those that fit.
func (x *Index) scan(ctx context.Context, q query, folders, series *best) error {
	t := x.tree
	if err := x.makeRoom(); err != nil {
		return err
	}
	inName, inExtra := x.inName[:t.names.len()+1], x.inExtra[:t.extras.len()+2]
	clear(inName)
	clear(inExtra)
	var slashed []slashedWord
	for _, i := range q.rarest() {
		hits, parts := 0, strings.Split(q[i], "/")
		if len(parts) > 1 {
			w := slashedWord{parts: parts, shift: 4 * i, ends: make([]bool, t.names.len()+1)}
			hits = w.find(&t.names)
			slashed = append(slashed, w)
		} else {
			t.names.each([]byte(q[i]), func(id uint32, at int) {
				hits++
				inName[id] |= fit(at, len(q[i]), len(t.names.fold(id))) << (4 * i)
			})
		}
		t.extras.each([]byte(q[i]), func(id uint32, _ int) {
			hits++
			inExtra[id+1] |= fitsText << (4 * i)
		})
		if hits == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
	}
	x.walk(ctx, q.need(), slashed, folders, series)
	return ctx.Err()
}

// makeRoom lengthens the slices in which a search notes how nodes, names and texts fit.
func (x *Index) makeRoom() error {
	t := x.tree
	if len(x.masks) >= len(t.parent) && len(x.inName) > t.names.len() && len(x.inExtra) >= t.extras.len()+2 {
		return nil
	}
	x.makeRoomUncharged()
	return x.charge()
}

func (x *Index) makeRoomUncharged() {
	t := x.tree
	x.masks = make([]uint32, len(t.parent)+len(t.parent)/8)
	x.inName = make([]uint32, t.names.len()+t.names.len()/8+1)
	x.inExtra = make([]uint32, t.extras.len()+t.extras.len()/8+2)
}

// walk goes through all nodes, and carries what their names fit from parents to children.
func (x *Index) walk(ctx context.Context, need uint32, slashed []slashedWord, folders, series *best) {
	t, inName, inExtra := x.tree, x.inName, x.inExtra
	masks := x.masks[:len(t.parent)]
	parent, name, extra := t.parent[:len(masks)], t.name[:len(masks)], t.extra[:len(masks)]
	masks[0] = 0
	for i := 1; i < len(masks); i++ {
		if i%ctxEach == 0 && ctx.Err() != nil {
			return
		}
		above := masks[parent[i]]
		m := above | inName[name[i]]
		for k := range slashed {
			if w := &slashed[k]; w.ends[name[i]] {
				m |= w.fits(t, uint32(i)) << w.shift
			}
		}
		masks[i] = m
		e := extra[i]
		m |= inExtra[e]
		if m&need != need {
			continue
		}
		if e != 0 {
			series.add(uint32(i), int32(bits.OnesCount32(m)))
		}
		if masks[i]&need == need && above&need != need && t.isFolder(uint32(i)) {
			folders.add(uint32(i), int32(bits.OnesCount32(masks[i])))
		}
	}
}

// fit returns how a word of n bytes fits a name of size bytes in which it first is at a place.
func fit(at, n, size int) uint32 {
	switch {
	case at > 0:
		return fitsInside
	case n < size:
		return fitsPrefix
	}
	return fitsWhole
}

// A slashedWord is a word with slashes: the end of a name, whole names, and the beginning of one.
type slashedWord struct {
	parts []string
	shift int
	ends  []bool // by name: it begins with the last part
}

// find notes the names that begin with the last part, and returns how many there are.
func (w *slashedWord) find(names *texts) (n int) {
	last := w.parts[len(w.parts)-1]
	if last == "" {
		for i := range w.ends {
			w.ends[i] = true
		}
		return len(w.ends)
	}
	names.each([]byte(last), func(id uint32, at int) {
		if at == 0 {
			w.ends[id] = true
			n++
		}
	})
	return n
}

// fits returns how a word fits the names of a node, which begins with the last part, and the names
// above it.
func (w *slashedWord) fits(t *tree, node uint32) uint32 {
	for i := len(w.parts) - 2; i >= 0; i-- {
		if node = t.parent[node]; node == 0 {
			if i == 0 && w.parts[0] == "" {
				break // the slash before the first name
			}
			return 0
		}
		name, part := t.names.fold(t.name[node]), w.parts[i]
		switch {
		case string(name) == part:
		case i > 0 || !bytes.HasSuffix(name, []byte(part)):
			return 0
		case part != "":
			return fitsInside
		}
	}
	return fitsPrefix
}

// weight ranks nodes that fit equally: those with few names in their path and a short last one come
// first.
func (t *tree) weight(node uint32) int32 {
	return int32(t.depth[node])<<16 | int32(min(len(t.names.fold(t.name[node])), 1<<16-1))
}

// A found is a node that fits.
type found struct {
	node   uint32
	fit    int32 // more is better
	weight int32 // less is better
}

// A best keeps the best of many hits, as a heap with the worst on top.
type best struct {
	tree       *tree
	scope      scope // of the nodes that are taken
	most, seen int
	kept       []found
	worse      uint32 // a folder: no hit in it that is as good as the worst one goes before that
}

// compare is negative if f is a better hit than g. Of hits that are equally good the one with the
// lesser path is better, so that all indexes of the same names, on one machine or on several, have
// the same best hits.
func (b *best) compare(f, g found) int {
	return cmp.Or(cmp.Compare(g.fit, f.fit), cmp.Compare(f.weight, g.weight), b.tree.comparePaths(f.node, g.node))
}

// add keeps a node if it is among the best. Most nodes that a short word fits are seen to be worse
// by their fit or their depth, which are at hand.
func (b *best) add(node uint32, fit int32) {
	t := b.tree
	if !b.scope.has(t, node) {
		return
	}
	b.seen++
	if len(b.kept) == b.most {
		worst := &b.kept[0]
		if fit < worst.fit || fit == worst.fit && int32(t.depth[node]) > worst.weight>>16 {
			return
		}
	}
	f := found{node, fit, t.weight(node)}
	switch above := t.parent[node]; {
	case len(b.kept) < b.most:
		heap.Push(b, f)
	case above == b.worse && above != 0 && f.weight == b.kept[0].weight && fit == b.kept[0].fit:
	case b.compare(f, b.kept[0]) < 0:
		b.kept[0], b.worse = f, 0
		heap.Fix(b, 0)
	case above != t.parent[b.kept[0].node] && t.depth[node] < maxDepth:
		b.worse = above
	}
}

// sorted returns the hits, the best first.
func (b *best) sorted() []found {
	slices.SortFunc(b.kept, b.compare)
	return b.kept
}

func (b *best) Len() int           { return len(b.kept) }
func (b *best) Less(i, j int) bool { return b.compare(b.kept[j], b.kept[i]) < 0 }
func (b *best) Swap(i, j int)      { b.kept[i], b.kept[j] = b.kept[j], b.kept[i] }

// Push is for package heap.
func (b *best) Push(f any) { b.kept = append(b.kept, f.(found)) }

// Pop is for package heap.
func (b *best) Pop() any {
	last := b.kept[len(b.kept)-1]
	b.kept = b.kept[:len(b.kept)-1]
	return last
}
