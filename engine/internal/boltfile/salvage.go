package boltfile

import (
	"encoding/binary"
	"io"

	"github.com/rondo-db/rondo/engine/internal/damage"
)

// A Salvager takes the entries that Salvage finds.
type Salvager interface {
	// BucketOf returns the bucket that the checksum of an entry proves it to belong to. Only bucket
	// comes into question, or every bucket if bucket is empty. It returns "" if nothing is proved.
	BucketOf(bucket string, k, v []byte) string
	// Put takes an entry, and may keep k and v. Several entries may have one key; the first counts.
	Put(bucket string, k, v []byte) error
	// Lose takes a line of the report: what could not be read.
	Lose(format string, args ...any)
}

// A salvage reads what is left of a damaged file.
type salvage struct {
	f    io.ReaderAt
	size int64
	to   Salvager
	walk *pageWalk
	free pageSet // nil: the list cannot be read
	seen pageSet // pages that were read; walk also counts pages that a damaged page claims
	left int64   // bytes that may still be read of entries, and of pages behind others
}

// mostRead bounds what Salvage reads of entries and of pages behind others, in sizes of the file.
// All that are sound together have the size twice at most. Each that is damaged may claim all.
const mostRead = 8

// Salvage reads all buckets of a damaged file of size bytes, bucket by bucket and page by page. It
// reads entries of damaged pages, too, because an entry that proves itself needs no page to vouch
// for it. Old versions of entries prove themselves as well, so Salvage leaves out the pages that
// the list of free pages names. It returns an error of to.Put, or a *damage.Error if no meta page
// is valid.
func Salvage(f io.ReaderAt, size int64, to Salvager) error {
	m, _, _, err := newestMeta(f, size)
	if err == nil {
		err = m.newer()
	}
	if err != nil {
		return err
	}
	c := &salvage{f: f, size: size, to: to, left: mostRead * size}
	c.walk = &pageWalk{f: f, meta: m, used: newPageSet(m.pages), unfit: make(map[string]bool), again: true, afford: c.afford}
	c.seen = newPageSet(m.pages)
	return c.run()
}

// run reads the pages that lead to each other, and then the leaf pages that nothing leads to.
func (c *salvage) run() error {
	m := c.walk.meta
	if ids, n, err := readFreelist(c.f, m); err == nil {
		c.free = newPageSet(m.pages)
		for i := range n {
			c.walk.use(m.freelist + i)
		}
		for _, id := range ids {
			c.free.add(id)
		}
	}
	if err := c.page(m.root, "", 0); err != nil {
		return err
	}
	for id := uint64(2); c.free != nil && id < m.pages; id++ {
		if c.walk.used.has(id) || c.free.has(id) {
			continue
		}
		b := c.at(int64(id)*m.pageSize, pageHeader)
		if b == nil || binary.NativeEndian.Uint64(b) != id || binary.NativeEndian.Uint16(b[8:]) != pageLeaf {
			continue
		}
		for i := range uint64(binary.NativeEndian.Uint32(b[12:])) {
			if id+1+i >= m.pages || !c.walk.use(id+1+i) {
				break
			}
		}
		if err := c.leaf(id, ""); err != nil { // no page leads to it any more
			return err
		}
	}
	return nil
}

// at reads n bytes of the file from off on; nil: the file does not have them, or cannot be read.
func (c *salvage) at(off, n int64) []byte {
	if off < 0 || n < 0 || off+n > c.size {
		return nil
	}
	b := make([]byte, n)
	if _, err := c.f.ReadAt(b, off); err != nil {
		return nil
	}
	return b
}

// afford reports whether an entry of n bytes may be read, or n bytes of pages behind another. It
// takes a quarter of what is left at most, so that a few that are damaged leave enough for others.
func (c *salvage) afford(n int64) bool {
	if n > c.left/4 {
		return false
	}
	c.left -= n
	return true
}

// page reads a page of bucket (empty: the bucket of buckets) and the pages below it.
func (c *salvage) page(id uint64, bucket string, depth int) error {
	w := c.walk
	if id < 2 || id >= w.meta.pages || c.free != nil && c.free.has(id) || c.seen.has(id) {
		c.to.Lose("page %d of bucket %q: what leads to it is damaged", id, bucket)
		return nil
	}
	c.seen.add(id)
	w.use(id)
	b, err := w.read(id)
	if err != nil {
		c.to.Lose("page %d of bucket %q: %v; what can be read of it is kept", id, bucket, err)
		if bucket == "" {
			return nil
		}
		return c.leaf(id, bucket)
	}
	branch := binary.NativeEndian.Uint16(b[8:]) == pageBranch
	err = checkElements(b, branch, w.meta.pageSize, nil, nil)
	if err != nil {
		c.to.Lose("page %d of bucket %q: %v; what can be read of it is kept", id, bucket, err)
	}
	if !branch {
		if bucket != "" {
			return c.leaf(id, bucket)
		}
		return c.buckets(id, b)
	}
	if err != nil && c.free == nil || depth > mostDepth {
		return nil // a damaged page may lead to old versions of others
	}
	for i := range min(int(binary.NativeEndian.Uint16(b[10:])), (len(b)-pageHeader)/pageElement) {
		if err := c.page(binary.NativeEndian.Uint64(b[pageHeader+i*pageElement+8:]), bucket, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// buckets reads the buckets that a leaf page of the bucket of buckets names.
func (c *salvage) buckets(id uint64, b []byte) error {
	start := int64(id) * c.walk.meta.pageSize
	e := binary.NativeEndian
	for i := range min(int(e.Uint16(b[10:])), (len(b)-pageHeader)/pageElement) {
		at := int64(pageHeader + i*pageElement)
		pos, ks, vs := at+int64(e.Uint32(b[at+4:])), int64(e.Uint32(b[at+8:])), int64(e.Uint32(b[at+12:]))
		if ks > MaxKey || pos+ks+vs > int64(len(b)) || vs < 16 {
			c.to.Lose("page %d: the entry of a bucket is damaged", id)
			continue
		}
		name := string(b[pos : pos+ks])
		var err error
		if root := e.Uint64(b[pos+ks:]); root != 0 {
			err = c.page(root, name, 0)
		} else {
			err = c.elements(start+pos+ks+16, start+pos+ks+vs, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leaf reads the elements of a leaf page.
func (c *salvage) leaf(id uint64, bucket string) error {
	return c.elements(int64(id)*c.walk.meta.pageSize, c.size, bucket)
}

// elements reads the elements of a leaf page that begins at byte start of the file and ends before
// end. Where the page's head is damaged, the place of the first element says how many there are.
// The table of elements never exceeds a page: larger pages have few and large elements.
func (c *salvage) elements(start, end int64, bucket string) error {
	e := binary.NativeEndian
	head := c.at(start, pageHeader+pageElement)
	if head == nil {
		return nil
	}
	count := int64(e.Uint16(head[10:]))
	n := count
	if first := int64(e.Uint32(head[pageHeader+4:])); first%pageElement == 0 && first/pageElement < 1<<16 {
		n = max(n, first/pageElement)
	}
	n = min(n, (min(end-start, c.walk.meta.pageSize)-pageHeader)/pageElement)
	table := c.at(start+pageHeader, n*pageElement)
	for i := range n {
		el := table[i*pageElement:]
		pos := start + pageHeader + i*pageElement + int64(e.Uint32(el[4:]))
		ks, vs := int64(e.Uint32(el[8:])), int64(e.Uint32(el[12:]))
		var k, v []byte
		if ks > 0 && ks <= MaxKey && pos+ks+vs <= end && c.afford(ks+vs) {
			if kv := c.at(pos, ks+vs); kv != nil {
				k, v = kv[:ks:ks], kv[ks:]
			}
		}
		of := ""
		if k != nil {
			of = c.to.BucketOf(bucket, k, v)
		}
		switch {
		case of != "":
			if err := c.to.Put(of, k, v); err != nil {
				return err
			}
		case bucket != "" && i < count:
			c.to.Lose("%s: a damaged entry, near %s", bucket, damage.KeyText(k[:min(len(k), 60)]))
		}
	}
	return nil
}
