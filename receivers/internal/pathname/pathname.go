// Package pathname makes paths of series from names of senders, so that names that differ have
// paths that differ.
package pathname

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
)

// Max is the longest path that is not cut short, in bytes.
const Max = 1024

// A Path is a path of a series that is being made.
type Path struct {
	path  []byte
	most  int
	exact bool // path has all that was added
	hash  uint64
}

// New returns a path that begins with a component as it is.
func New(first string) *Path {
	return &Path{path: append(make([]byte, 0, 256), first...), most: Max, exact: true, hash: offset}
}

// Join returns the path of a component as it is and others, which is as long as a path may be.
func Join(first string, components ...string) string {
	p := New(first)
	p.most = core.MaxPath
	for _, c := range components {
		p.Add(c)
	}
	return p.String()
}

// offset is where a hash begins.
const offset = 14695981039346656037

// Add adds a component. What a path must not have becomes "_", and an empty component "-".
func (p *Path) Add(component string) {
	p.Mix(component)
	p.path = append(p.path, '/')
	switch component {
	case "":
		p.path = append(p.path, '-')
		return
	case "-":
		p.exact = false
	}
	start := len(p.path)
	p.path = receivers.AppendComponent(p.path, component)
	p.exact = p.exact && string(p.path[start:]) == component
}

// Mix makes texts count for whether paths differ, where the path alone does not show them.
func (p *Path) Mix(texts ...string) {
	h := fnv.New64a()
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], p.hash)
	_, _ = h.Write(n[:]) // a hash takes everything
	for _, s := range texts {
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		_, _ = h.Write(n[:])
		_, _ = h.Write([]byte(s))
	}
	p.hash = h.Sum64()
}

// Blur notes that paths of other names may look the same: a component has a character in it that
// the caller uses to separate.
func (p *Path) Blur() { p.exact = false }

// String returns the path. If a component was changed, if Blur was called, or if the path is too
// long and is cut short, "~" and a hash of 64 bits of all that was added stand behind it.
func (p *Path) String() string {
	// A trailing .rrd does not count in a path.
	if p.exact && len(p.path) <= p.most && !bytes.HasSuffix(p.path, []byte(".rrd")) {
		return string(p.path)
	}
	var sum [8]byte
	binary.BigEndian.PutUint64(sum[:], p.hash)
	behind := "~" + hex.EncodeToString(sum[:])
	path := p.path[:min(len(p.path), p.most-len(behind))]
	return strings.ToValidUTF8(string(path), "") + behind
}
