package core

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
)

// A pageCopy copies what can be read of a damaged file into a new one, bucket by bucket and page by
// page. Each value proves by its checksum which bucket and key it is of, so values are taken also
// from pages that are damaged themselves. Old versions of values prove themselves as well: pages
// that the list of free pages names are left out.
type pageCopy struct {
	r    *repairing
	f    *os.File
	size int64
	walk *pageWalk
	free []uint64 // a bit a page; nil: the list cannot be read
	seen []uint64 // a bit a page that was copied. walk also counts pages that a damaged page claims

	to      *database
	pending map[string][]pair
	bytes   int
}

// copyPages copies all buckets.
func (c *pageCopy) copyPages() error {
	m, _, _, err := newestMeta(c.f, c.size)
	if err != nil {
		return err
	}
	c.walk = &pageWalk{f: c.f, meta: m, used: make([]uint64, m.pages/64+1), unfit: make(map[string]bool), again: true}
	c.seen = make([]uint64, m.pages/64+1)
	c.pending = make(map[string][]pair)
	if ids, n, err := readFreelist(c.f, m); err == nil {
		c.free = make([]uint64, m.pages/64+1)
		for i := range n {
			c.walk.take(m.freelist + i)
		}
		for _, id := range ids {
			c.free[id/64] |= 1 << (id % 64)
		}
	} else {
		c.r.done("the list of free pages is made anew (%v)", err)
	}
	if err := c.page(m.root, "", 0); err != nil {
		return err
	}
	for id := uint64(2); c.free != nil && id < m.pages; id++ {
		if c.walk.used[id/64]>>(id%64)&1 != 0 || c.free[id/64]>>(id%64)&1 != 0 {
			continue
		}
		b := c.at(int64(id)*m.pageSize, pageHeader)
		if b == nil || binary.NativeEndian.Uint64(b) != id || binary.NativeEndian.Uint16(b[8:]) != pageLeaf {
			continue
		}
		for i := range uint64(binary.NativeEndian.Uint32(b[12:])) {
			if id+1+i >= m.pages || !c.walk.take(id+1+i) {
				break
			}
		}
		if err := c.leaf(id, ""); err != nil { // no page leads to it any more
			return err
		}
	}
	return c.flush()
}

// at reads bytes of the file; nil: they are not there.
func (c *pageCopy) at(off, n int64) []byte {
	if off < 0 || n < 0 || off+n > c.size {
		return nil
	}
	b := make([]byte, n)
	if _, err := c.f.ReadAt(b, off); err != nil {
		return nil
	}
	return b
}

// page copies a page of a bucket (empty: of the bucket of buckets) and those below it.
func (c *pageCopy) page(id uint64, bucket string, depth int) error {
	w := c.walk
	if id < 2 || id >= w.meta.pages || c.free != nil && c.free[id/64]>>(id%64)&1 != 0 || c.seen[id/64]>>(id%64)&1 != 0 {
		c.r.lose("page %d of bucket %q: what leads to it is damaged", id, bucket)
		return nil
	}
	c.seen[id/64] |= 1 << (id % 64)
	w.take(id)
	b, err := w.read(id)
	if err != nil {
		c.r.lose("page %d of bucket %q: %v; what can be read of it is kept", id, bucket, err)
		if bucket == "" {
			return nil
		}
		return c.leaf(id, bucket)
	}
	branch := binary.NativeEndian.Uint16(b[8:]) == pageBranch
	err = checkElements(b, branch, w.meta.pageSize, nil, nil)
	if err != nil {
		c.r.lose("page %d of bucket %q: %v; what can be read of it is kept", id, bucket, err)
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

// buckets copies the buckets that a leaf page of the bucket of buckets names.
func (c *pageCopy) buckets(id uint64, b []byte) error {
	start := int64(id) * c.walk.meta.pageSize
	e := binary.NativeEndian
	for i := range min(int(e.Uint16(b[10:])), (len(b)-pageHeader)/pageElement) {
		at := int64(pageHeader + i*pageElement)
		pos, ks, vs := at+int64(e.Uint32(b[at+4:])), int64(e.Uint32(b[at+8:])), int64(e.Uint32(b[at+12:]))
		if pos+ks+vs > int64(len(b)) || vs < 16 {
			c.r.lose("page %d: the entry of a bucket is damaged", id)
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

// leaf copies the elements of a leaf page.
func (c *pageCopy) leaf(id uint64, bucket string) error {
	return c.elements(int64(id)*c.walk.meta.pageSize, c.size, bucket)
}

// elements copies the elements of a leaf page that begins at byte start of the file and ends before
// end. Where an element is damaged, its neighbours tell where it lies.
func (c *pageCopy) elements(start, end int64, bucket string) error {
	e := binary.NativeEndian
	head := c.at(start, pageHeader+pageElement)
	if head == nil {
		return nil
	}
	n := int64(e.Uint16(head[10:]))
	if first := int64(e.Uint32(head[pageHeader+4:])); first%pageElement == 0 && first/pageElement < 1<<16 {
		n = max(n, first/pageElement)
	}
	n = min(n, (end-start-pageHeader)/pageElement)
	table := c.at(start+pageHeader, n*pageElement)
	last := start + pageHeader + n*pageElement // the end of the one before
	for i := range n {
		el := table[i*pageElement:]
		at := start + pageHeader + i*pageElement
		pos, ks, vs := at+int64(e.Uint32(el[4:])), int64(e.Uint32(el[8:])), int64(e.Uint32(el[12:]))
		next := last + ks + vs
		if i+1 < n {
			next = at + pageElement + int64(e.Uint32(el[pageElement+4:]))
		}
		found := false
		for j, try := range [][3]int64{{pos, ks, vs}, {last, ks, vs}, {last, next - last - vs, vs}, {last, ks, next - last - ks}} {
			if try[1] <= 0 || try[1] > bolt.MaxKeySize || try[2] < 0 || try[0]+try[1]+try[2] > end {
				continue
			}
			kv := c.at(try[0], try[1]+try[2])
			if kv == nil {
				continue
			}
			k, v := kv[:try[1]:try[1]], kv[try[1]:]
			if of := c.bucketOf(bucket, k, v); of != "" {
				if err := c.put(of, k, v); err != nil {
					return err
				}
				found, last = true, try[0]+try[1]+try[2]
				break
			}
			if j == 0 && keptDamaged(bucket, k) { // what it is of is known: a later step tells what is lost
				if err := c.put(bucket, k, v); err != nil {
					return err
				}
				found, last = true, pos+ks+vs
				break
			}
		}
		if !found {
			if bucket != "" && i < int64(e.Uint16(head[10:])) {
				c.r.lose("%s: a damaged entry, near %s", bucket, keyText(c.at(last, min(max(ks, 0), 60, max(end-last, 0)))))
			}
			last = next
		}
	}
	return nil
}

// keptDamaged says whether a value that is damaged is copied, because its key alone says something.
func keptDamaged(bucket string, k []byte) bool {
	switch bucket {
	case string(bucketRows):
		_, _, _, _, _, ok := rowblock.ParseKey(k)
		return ok
	case string(bucketLag):
		return len(k) == lagKeySize
	case string(bucketState):
		return len(k) == 8
	}
	return false
}

// bucketOf returns the bucket that an entry proves to be of, among all if bucket is empty; empty:
// none.
func (c *pageCopy) bucketOf(bucket string, k, v []byte) string {
	for _, b := range buckets {
		if bucket != "" && bucket != string(b) {
			continue
		}
		var err error
		if bytes.Equal(b, bucketRows) {
			if _, _, _, _, _, ok := rowblock.ParseKey(k); !ok {
				continue
			}
			_, err = rowblock.Open(k, v)
		} else {
			_, err = record.CutSum(v, b, k)
		}
		if err == nil {
			return string(b)
		}
	}
	return ""
}

// put takes an entry into the new file.
func (c *pageCopy) put(bucket string, k, v []byte) error {
	c.pending[bucket] = append(c.pending[bucket], pair{k, v})
	if c.bytes += len(k) + len(v); c.bytes < 8<<20 {
		return nil
	}
	return c.flush()
}

// flush writes what was taken. The first of two entries of one key stays.
func (c *pageCopy) flush() error {
	err := c.to.Update(nil, func(tx *bolt.Tx) error {
		for name, pairs := range c.pending {
			b, err := tx.CreateBucketIfNotExists([]byte(name))
			if err != nil {
				return fmt.Errorf("bucket %q: %w", name, err)
			}
			b.FillPercent = 0.9
			for _, p := range pairs {
				if b.Get(p.k) != nil {
					continue
				}
				if err := b.Put(p.k, p.v); err != nil {
					return err
				}
			}
		}
		return nil
	}, nil)
	c.pending, c.bytes = make(map[string][]pair), 0
	return err
}
