package core_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// A damagedCompaction compacts a small database after one of its pages was damaged.
type damagedCompaction struct {
	t    *testing.T
	dir  string
	good []byte
	want map[string]uint64
}

func newDamagedCompaction(t *testing.T) *damagedCompaction {
	c := &damagedCompaction{t: t, dir: t.TempDir()}
	c.good = smallDatabase(t, c.dir)
	s := mustOpen(t, c.dir, core.Options{NoBackground: true})
	c.want = mustDigest(t, s)
	mustClose(t, s.Abandon())
	return c
}

// try takes an element from a page and compacts the database. It reports whether that was refused.
// If it was not, the database must hold what it held before.
func (c *damagedCompaction) try(page int) (refused bool) {
	bad := bytes.Clone(c.good)
	bad[page*4096+10]-- // one element less
	if err := os.WriteFile(filepath.Join(c.dir, "rondo.bolt"), bad, 0o600); err != nil {
		c.t.Fatal(err)
	}
	if _, err := core.Compact(c.t.Context(), c.dir, core.Options{}); err == nil {
		s := mustOpen(c.t, c.dir, core.Options{NoBackground: true})
		sameDigest(c.t, fmt.Sprint("page ", page), mustDigest(c.t, s), c.want)
		mustClose(c.t, s.Abandon())
	} else if refused = true; !errors.Is(err, core.ErrDamaged) {
		c.t.Errorf("page %d: %v", page, err)
	}
	noCopyLeft(c.t, c.dir)
	return refused
}

// used returns the pages that have elements and for which ok holds; some of them are free again.
func (c *damagedCompaction) used(ok func(elements int) bool) []int {
	var used []int
	for page := 2; page < len(c.good)/4096; page++ {
		b := c.good[page*4096:]
		elements := int(binary.NativeEndian.Uint16(b[10:]))
		if branchOrLeaf := uint16(3); binary.NativeEndian.Uint16(b[8:])&branchOrLeaf != 0 && ok(elements) {
			used = append(used, page)
		}
	}
	return used
}

// TestCompactOfDamagedPages refuses pages that hide entries: the copy would lack them.
func TestCompactOfDamagedPages(t *testing.T) {
	c := newDamagedCompaction(t)
	used := c.used(func(elements int) bool { return elements > 1 && elements&0xff != 0 })
	refused := 0
	for i := 0; i < len(used); i += 1 + len(used)/40 {
		if c.try(used[i]) {
			refused++
		}
	}
	t.Logf("%d pages, %d refused", len(used), refused)
	if refused == 0 {
		t.Error("no damage was refused")
	}
}

// TestCompactOfPageThatLostItsOnlyEntry damages pages of one entry. A leaf then looks like the page
// of an empty bucket.
func TestCompactOfPageThatLostItsOnlyEntry(t *testing.T) {
	c := newDamagedCompaction(t)
	used := c.used(func(elements int) bool { return elements == 1 })
	refused := 0
	for _, page := range used[:min(len(used), 20)] {
		if c.try(page) {
			refused++
		}
	}
	t.Logf("%d pages, %d refused", len(used), refused)
	if refused == 0 {
		t.Error("no damage was refused")
	}
}
