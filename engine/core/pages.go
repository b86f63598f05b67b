package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
)

// A pageWalk reads the pages of the database from the file, not through the mapping, and trusts
// none of them: each must be where it says it is, of a kind that belongs there, with its elements
// inside and its keys in order, and be reached once. bbolt follows pages without such care: one
// that leads to itself is followed without end. So whatever walks whole buckets is preceded by
// this.
type pageWalk struct {
	f    io.ReaderAt
	meta metaPage
	used []uint64 // a bit a page
	// report takes what is wrong with the pages of a bucket; empty: of the file as a whole.
	report func(bucket, what string)
	bucket string
	// unfit names the buckets that bbolt must not read: it might not find their end, or read beside
	// their pages.
	unfit map[string]bool
	// branches leaves the leaf pages out: what leads to pages is checked, not what they hold.
	branches bool
	depth    int // of the tree at hand, once it is known
	// within, where it is not nil, leaves out what holds no key near those from within[0] to
	// within[1].
	within *[2][]byte
	// again says that the tree is walked several times; kept are the branch pages that were read,
	// and nil for leaf pages.
	again bool
	kept  map[uint64][]byte
	only  string // leaves out all other buckets but this; empty: none
}

const (
	pageHeader  = 16
	pageElement = 16
	pageBranch  = 1
	pageLeaf    = 2
	mostDepth   = 64 // more than any tree of 2^48 pages needs
)

// walkPages walks all pages of the newest transaction. Nobody may write meanwhile.
func walkPages(f io.ReaderAt, size int64, branches bool, report func(bucket, what string)) (unfit map[string]bool, err error) {
	m, _, _, err := newestMeta(f, size)
	if err != nil {
		return nil, err
	}
	if m.pageSize <= 0 || int64(m.pages) > size/m.pageSize {
		return nil, &DamageError{Err: fmt.Errorf("the file has %d bytes, but %d pages of %d: it was cut", size, m.pages, m.pageSize)}
	}
	w := &pageWalk{f: f, meta: m, used: make([]uint64, m.pages/64+1), report: report, unfit: make(map[string]bool), branches: branches}
	w.tree(m.root, true)
	w.free()
	return w.unfit, nil
}

func (w *pageWalk) bad(page uint64, format string, args ...any) {
	w.report(w.bucket, fmt.Sprintf("page %d: %s", page, fmt.Sprintf(format, args...)))
}

// take notes that a page is in use.
func (w *pageWalk) take(id uint64) bool {
	if w.used[id/64]>>(id%64)&1 != 0 {
		w.unfit[w.bucket] = true
		return false
	}
	w.used[id/64] |= 1 << (id % 64)
	return true
}

// tree walks the tree under a page.
func (w *pageWalk) tree(root uint64, buckets bool) {
	w.depth = 0
	w.page(root, 1, nil, nil, buckets)
}

// page walks a page and those below it. Its keys must not be below low, and be below high.
func (w *pageWalk) page(id uint64, depth int, low, high []byte, buckets bool) {
	if id < 2 || id >= w.meta.pages {
		w.bad(id, "does not exist: the database has %d", w.meta.pages)
		return
	}
	if !w.take(id) {
		if !w.again {
			w.bad(id, "is reached twice")
			return
		}
		b, known := w.kept[id]
		if b != nil {
			w.children(b, depth, high, buckets)
		}
		if known {
			return
		}
	}
	if w.branches && !buckets && depth == w.depth {
		return
	}
	b, err := w.read(id)
	if err != nil {
		w.bad(id, "%v", err)
		return
	}
	branch := binary.NativeEndian.Uint16(b[8:]) == pageBranch
	if branch && depth >= mostDepth {
		w.unfit[w.bucket] = true
		w.bad(id, "%d pages lie above it", depth)
		return
	}
	if !branch {
		w.depth = depth
	}
	if err := checkElements(b, branch, w.meta.pageSize, low, high); err == nil && !branch && !buckets {
		err = noBuckets(b)
		if err != nil {
			w.bad(id, "%v", err)
			return
		}
	} else if err != nil {
		// bbolt follows a branch all the same, and looks for a bucket that is kept inside of a page
		// wherever the page says.
		w.unfit[w.bucket] = w.unfit[w.bucket] || branch || buckets && errors.Is(err, errElement)
		w.bad(id, "%v", err)
		return
	}
	if w.again {
		w.kept[id] = nil
		if branch {
			w.kept[id] = b
		}
	}
	if branch {
		w.children(b, depth, high, buckets)
		return
	}
	if !buckets {
		return
	}
	n := int(binary.NativeEndian.Uint16(b[10:]))
	for i := range n {
		k, v, flags := element(b, i, false)
		if flags != 1 {
			w.bad(id, "%q is no bucket", k)
			continue
		}
		if w.only == "" || w.only == string(k) {
			w.inBucket(id, string(k), v)
		}
	}
	w.bucket = ""
}

// children walks what lies below a branch page that was checked.
func (w *pageWalk) children(b []byte, depth int, high []byte, buckets bool) {
	n := int(binary.NativeEndian.Uint16(b[10:]))
	first, end := 0, n
	if w.within != nil {
		first, end = near(b, n, w.within)
	}
	for i := first; i < end; i++ {
		next := high
		if i+1 < n {
			next, _, _ = element(b, i+1, true)
		}
		key, _, child := element(b, i, true)
		w.page(child, depth+1, key, next, buckets)
	}
}

// inBucket walks the bucket whose value is v.
func (w *pageWalk) inBucket(id uint64, name string, v []byte) {
	w.bucket = name
	if len(v) < 16 {
		w.unfit[name] = true
		w.bad(id, "a bucket of %d bytes", len(v))
		return
	}
	if root := binary.NativeEndian.Uint64(v); root != 0 {
		w.tree(root, false)
		return
	}
	// bbolt may copy such a page to the Go heap. What its elements point at beside of it would be
	// other objects there.
	page := v[16:]
	if len(page) < pageHeader || binary.NativeEndian.Uint16(page[8:]) != pageLeaf {
		w.unfit[name] = true
		w.bad(id, "a bucket kept inside of it is no leaf")
	} else if err := checkElements(page, false, 1, nil, nil); err != nil {
		w.unfit[name] = w.unfit[name] || errors.Is(err, errElement)
		w.bad(id, "a bucket kept inside of it: %v", err)
	}
}

// read returns a page with those that it overflows into.
func (w *pageWalk) read(id uint64) ([]byte, error) {
	b := make([]byte, w.meta.pageSize)
	if _, err := w.f.ReadAt(b, int64(id)*w.meta.pageSize); err != nil {
		return nil, err
	}
	e := binary.NativeEndian
	flags, overflow := e.Uint16(b[8:]), uint64(e.Uint32(b[12:]))
	switch {
	case e.Uint64(b) != id:
		return nil, fmt.Errorf("says it is page %d", e.Uint64(b))
	case flags != pageBranch && flags != pageLeaf:
		return nil, fmt.Errorf("is of kind %#x", flags)
	case id+overflow >= w.meta.pages:
		w.unfit[w.bucket] = w.unfit[w.bucket] || flags == pageBranch
		return nil, fmt.Errorf("claims %d pages behind it: the database has %d", overflow, w.meta.pages)
	}
	for i := uint64(1); i <= overflow; i++ {
		if !w.take(id+i) && !w.again {
			return nil, fmt.Errorf("claims page %d, which another page uses", id+i)
		}
	}
	if overflow > 0 {
		rest := make([]byte, int64(overflow+1)*w.meta.pageSize)
		if _, err := w.f.ReadAt(rest[copy(rest, b):], int64(id+1)*w.meta.pageSize); err != nil {
			return nil, err
		}
		b = rest
	}
	return b, nil
}

// near returns the children of a branch page that may hold the keys of a range, and their
// neighbours: where the key of a child is damaged, what it holds is sought in the one before it.
func near(b []byte, n int, within *[2][]byte) (first, end int) {
	child := func(key []byte) int {
		return sort.Search(n-1, func(i int) bool {
			k, _, _ := element(b, i+1, true)
			return bytes.Compare(k, key) > 0
		})
	}
	return max(child(within[0])-1, 0), min(child(within[1])+2, n)
}

// noBuckets checks that a leaf page of a bucket of rondo's holds values only.
func noBuckets(b []byte) error {
	for i := range int(binary.NativeEndian.Uint16(b[10:])) {
		if _, _, flags := element(b, i, false); flags != 0 {
			return fmt.Errorf("element %d is of kind %#x", i, flags)
		}
	}
	return nil
}

var errElement = errors.New("an element is not where it belongs")

// checkElements checks that keys and values lie within the page, one behind the other without gaps
// as bbolt writes them, so that none is hidden (an error of this is errElement), that the page has
// no room for more than one of pageSize bytes, and that keys are in order.
func checkElements(b []byte, branch bool, pageSize int64, low, high []byte) error {
	e := binary.NativeEndian
	n := int(e.Uint16(b[10:]))
	if pageHeader+n*pageElement > len(b) || branch && n == 0 {
		return fmt.Errorf("has %d elements: %w", n, errElement)
	}
	last, end := low, uint64(pageHeader+n*pageElement)
	for i := range n {
		at := pageHeader + i*pageElement
		pos, ksize, vsize := uint64(e.Uint32(b[at+4:])), uint64(e.Uint32(b[at+8:])), uint64(e.Uint32(b[at+12:]))
		if branch {
			pos, ksize, vsize = uint64(e.Uint32(b[at:])), uint64(e.Uint32(b[at+4:])), 0
		}
		if uint64(at)+pos != end || end+ksize+vsize > uint64(len(b)) {
			return errElement
		}
		end += ksize + vsize
		key := b[uint64(at)+pos:][:ksize]
		if order := bytes.Compare(last, key); order > 0 || order == 0 && i > 0 || high != nil && bytes.Compare(key, high) >= 0 {
			return fmt.Errorf("key %d is out of order", i)
		}
		last = key
	}
	if int64(len(b))-int64(end) >= pageSize {
		return fmt.Errorf("its elements end at byte %d of %d", end, len(b))
	}
	return nil
}

// element returns an element of a page that was checked: key and value and flags, or key and child.
func element(b []byte, i int, branch bool) (key, value []byte, number uint64) {
	e := binary.NativeEndian
	at := uint64(pageHeader + i*pageElement)
	if branch {
		return b[at+uint64(e.Uint32(b[at:])):][:e.Uint32(b[at+4:])], nil, e.Uint64(b[at+8:])
	}
	pos, ksize, vsize := at+uint64(e.Uint32(b[at+4:])), uint64(e.Uint32(b[at+8:])), uint64(e.Uint32(b[at+12:]))
	return b[pos : pos+ksize], b[pos+ksize : pos+ksize+vsize], uint64(e.Uint32(b[at:]))
}

// free compares the pages that were reached with the list of free pages: each must be in one of the
// two.
func (w *pageWalk) free() {
	w.bucket = ""
	ids, pages, err := readFreelist(w.f, w.meta)
	if err != nil {
		w.report("", err.Error())
		return
	}
	for i := range pages {
		w.take(w.meta.freelist + i)
	}
	for _, id := range ids {
		if !w.take(id) {
			w.unfit[""] = true // a page in use would be written over
			w.bad(id, "is in use and in the list of free pages")
		}
	}
	if w.branches { // the pages that a leaf page overflows into are not known
		return
	}
	lost := 0
	for id := uint64(2); id < w.meta.pages; id++ {
		if w.used[id/64]>>(id%64)&1 == 0 {
			lost++
		}
	}
	if lost > 0 {
		w.report("", fmt.Sprintf("%d pages are neither in use nor in the list of free pages", lost))
	}
}
