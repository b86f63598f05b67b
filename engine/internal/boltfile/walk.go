package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
)

// A pageWalk reads the pages of the database from the file, not through the mapping, and trusts
// none of them. Each page must be where it says it is, be of a kind that belongs there, hold its
// elements inside and its keys in order, and be reached once. bbolt follows pages without such
// checks: it would follow a page that leads to itself for ever. So a walk comes before anything
// that reads whole buckets.
type pageWalk struct {
	f    io.ReaderAt
	meta metaPage
	used pageSet
	// report is called with what is wrong with the pages of a bucket; bucket is empty for the file
	// as a whole.
	report func(bucket, what string)
	bucket string
	// unfit names the buckets that bbolt must not read: it might never find their end, or read
	// outside of their pages.
	unfit map[string]bool
	// branches limits the walk to branch pages: it checks what leads to leaf pages, not the leaves.
	branches bool
	depth    int // of the tree at hand, once it is known
	// within, if not nil, limits the walk to pages that may hold keys from within[0] to within[1],
	// and their neighbours.
	within *[2][]byte
	until  []byte // the lowest key behind within[1] with which a page begins; nil: none does
	// again says that the tree is walked several times. kept then holds the branch pages that were
	// read, and nil for each leaf page.
	again bool
	kept  map[uint64][]byte
	// afford, if not nil, reports whether n bytes of pages behind another may be read.
	afford func(n int64) bool
	only   string // limits the walk to this bucket; empty: all buckets
}

// mostDepth is more levels than any tree of 2^48 pages needs.
const mostDepth = 64

// walkPages walks all pages of the newest transaction, or all branch pages. Nobody may write
// meanwhile. See File.Walk for report and unfit.
func walkPages(f io.ReaderAt, size int64, branches bool, report func(bucket, what string)) (unfit map[string]bool, err error) {
	m, err := wholeMeta(f, size)
	if err != nil {
		return nil, err
	}
	w := &pageWalk{f: f, meta: m, used: newPageSet(m.pages), report: report, unfit: make(map[string]bool), branches: branches}
	w.tree(m.root, true)
	w.free()
	return w.unfit, nil
}

// Walk checks every page that the newest transaction reaches. The caller keeps others from writing
// meanwhile. report is called with each finding and its bucket (empty: the file as a whole). unfit
// names the buckets whose pages bbolt must not follow.
func (f *File) Walk(report func(bucket, what string)) (unfit map[string]bool, err error) {
	file := f.current.Load().file
	st, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return walkPages(file, st.Size(), false, report)
}

// bad reports what is wrong with a page.
func (w *pageWalk) bad(page uint64, format string, args ...any) {
	w.report(w.bucket, fmt.Sprintf("page %d: %s", page, fmt.Sprintf(format, args...)))
}

// use notes that a page is in use. It returns false if the page was in use already.
func (w *pageWalk) use(id uint64) bool {
	if w.used.has(id) {
		w.unfit[w.bucket] = true
		return false
	}
	w.used.add(id)
	return true
}

// tree walks the tree under a page.
func (w *pageWalk) tree(root uint64, buckets bool) {
	w.depth = 0
	w.page(root, 1, nil, nil, buckets)
}

// page walks a page and the pages below it. Its keys must lie from low on and below high.
func (w *pageWalk) page(id uint64, depth int, low, high []byte, buckets bool) {
	if id < 2 || id >= w.meta.pages {
		w.bad(id, "does not exist: the database has %d", w.meta.pages)
		return
	}
	if !w.use(id) {
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
	if !w.elements(id, b, low, high, buckets) {
		return
	}
	if w.again {
		w.kept[id] = nil
		if branch {
			w.kept[id] = b
		}
	}
	switch {
	case branch:
		w.children(b, depth, high, buckets)
	case buckets:
		w.buckets(id, b)
	}
}

// elements checks the elements of a page, and reports whether they are fit to be followed.
func (w *pageWalk) elements(id uint64, b []byte, low, high []byte, buckets bool) bool {
	branch := binary.NativeEndian.Uint16(b[8:]) == pageBranch
	err := checkElements(b, branch, w.meta.pageSize, low, high)
	if err != nil {
		// bbolt follows a damaged branch all the same. A bucket that is kept inside of a page it
		// seeks wherever that page says.
		w.unfit[w.bucket] = w.unfit[w.bucket] || branch || buckets && errors.Is(err, errElement)
	} else if !branch && !buckets {
		err = noBuckets(b)
	}
	if err != nil {
		w.bad(id, "%v", err)
	}
	return err == nil
}

// buckets walks the buckets that a leaf page of the bucket of buckets names.
func (w *pageWalk) buckets(id uint64, b []byte) {
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

// children walks the pages below a branch page that was checked.
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
			w.bound(next)
		}
		key, _, child := element(b, i, true)
		w.page(child, depth+1, key, next, buckets)
	}
}

// inBucket walks the bucket name, whose entry in the bucket of buckets has the value v.
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
	// The bucket is kept inside of its entry. bbolt may copy such a page to the Go heap, where an
	// element that points outside of the page would show other objects.
	page := v[16:]
	if len(page) < pageHeader || binary.NativeEndian.Uint16(page[8:]) != pageLeaf {
		w.unfit[name] = true
		w.bad(id, "a bucket kept inside of it is no leaf")
	} else if err := checkElements(page, false, 1, nil, nil); err != nil {
		w.unfit[name] = w.unfit[name] || errors.Is(err, errElement)
		w.bad(id, "a bucket kept inside of it: %v", err)
	}
}

// read returns a page together with its overflow pages.
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
		if !w.use(id+i) && !w.again {
			return nil, fmt.Errorf("claims page %d, which another page uses", id+i)
		}
	}
	if overflow > 0 {
		if w.afford != nil && !w.afford(int64(overflow)*w.meta.pageSize) {
			return nil, fmt.Errorf("claims %d pages behind it: damaged pages claim too many", overflow)
		}
		rest := make([]byte, int64(overflow+1)*w.meta.pageSize)
		if _, err := w.f.ReadAt(rest[copy(rest, b):], int64(id+1)*w.meta.pageSize); err != nil {
			return nil, err
		}
		b = rest
	}
	return b, nil
}

// near returns the range of the children of a branch page that may hold the keys of a range, and
// one neighbour on each side: if the key of a child is damaged, bbolt seeks the child's keys in the
// child before it.
func near(b []byte, n int, within *[2][]byte) (first, end int) {
	child := func(key []byte) int {
		return sort.Search(n-1, func(i int) bool {
			k, _, _ := element(b, i+1, true)
			return bytes.Compare(k, key) > 0
		})
	}
	return max(child(within[0])-1, 0), min(child(within[1])+2, n)
}

// free compares the pages that were reached with the list of free pages. Each page must be reached
// or free, and not both.
func (w *pageWalk) free() {
	w.bucket = ""
	ids, pages, err := readFreelist(w.f, w.meta)
	if err != nil {
		w.report("", err.Error())
		return
	}
	for i := range pages {
		w.use(w.meta.freelist + i)
	}
	for _, id := range ids {
		if !w.use(id) {
			w.unfit[""] = true // a page in use would be written over
			w.bad(id, "is in use and in the list of free pages")
		}
	}
	if w.branches { // the overflow pages of leaf pages are not known
		return
	}
	lost := 0
	for id := uint64(2); id < w.meta.pages; id++ {
		if !w.used.has(id) {
			lost++
		}
	}
	if lost > 0 {
		w.report("", fmt.Sprintf("%d pages are neither in use nor in the list of free pages", lost))
	}
}
