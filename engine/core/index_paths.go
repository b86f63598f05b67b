package core

import (
	"bytes"
	"slices"
	"strings"
)

// below returns the series of the database whose path is that of one of the folders, or below one.
// It reads at most most names; whole is false if there are more.
func (r *indexReader) below(folders []string, most int) (set refSet, whole bool) {
	var refs []Ref
	names := r.tx.Bucket(bucketNames)
	take := func(k, v []byte) {
		if ref, err := r.cat.decodeName(k, v); !r.passed.over(err) {
			refs = append(refs, ref)
		}
	}
	for _, f := range folders {
		if v := names.Get([]byte(f)); v != nil {
			take([]byte(f), v)
		}
		prefix := []byte(f + "/")
		c := names.Cursor()
		for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix) && r.more(); k, v = c.Next() {
			if most--; most < 0 {
				return nil, false
			}
			take(k, v)
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
