package core

import (
	"slices"
	"strings"
)

// below returns the series of the database whose path is that of one of the folders, or below one.
// It reads at most most names; whole is false if there are more.
func (r *indexReader) below(folders []string, most int) (set refSet, whole bool) {
	var refs []Ref
	c := r.paths.cursor(r.tx.Bucket(bucketNames))
	take := func() {
		if ref := r.cat.nameAt(&c, r.passed); ref != 0 {
			refs = append(refs, ref)
		}
	}
	for _, f := range folders {
		if c.seek([]byte(f)); string(c.key) == f {
			take()
		}
		prefix := f + "/"
		for c.seek([]byte(prefix)); c.has(prefix) && r.more(); c.next() {
			if most--; most < 0 {
				return nil, false
			}
			take()
		}
	}
	slices.Sort(refs)
	return r.cat.setOf(slices.Compact(refs)), true
}

// reaches reports whether a look-up key is one of the folders of m, or below one.
func (m *Matcher) reaches(key string) bool {
	for _, f := range m.Folders {
		if rest, ok := strings.CutPrefix(key, f); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}
