package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// A page of bbolt begins with a header: 8 bytes of page number, 2 of kind, 2 for the number of
// elements, 4 for the number of overflow pages. A table of elements follows, then keys and values.
const (
	pageHeader  = 16
	pageElement = 16
	pageBranch  = 1
	pageLeaf    = 2
)

// errElement says that an element reaches out of its page, or leaves a gap to the one before it.
var errElement = errors.New("an element is not where it belongs")

// checkElements checks three things of a page. Its keys and values lie within the page, one behind
// the other without gaps, as bbolt writes them; otherwise an element is hidden, and the error is
// errElement. The keys are in order, from low on and below high. Less than pageSize bytes are
// unused at the end. A page without elements has zeros only, as bbolt writes it.
func checkElements(b []byte, branch bool, pageSize int64, low, high []byte) error {
	e := binary.NativeEndian
	n := int(e.Uint16(b[10:]))
	if pageHeader+n*pageElement > len(b) || branch && n == 0 {
		return fmt.Errorf("has %d elements: %w", n, errElement)
	}
	if n == 0 && len(bytes.TrimLeft(b[pageHeader:], "\x00")) > 0 {
		return fmt.Errorf("has remains of elements: %w", errElement)
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

// element returns an element of a page that was checked: key, value and flags of a leaf's element,
// key and child page of a branch's.
func element(b []byte, i int, branch bool) (key, value []byte, number uint64) {
	e := binary.NativeEndian
	at := uint64(pageHeader + i*pageElement)
	if branch {
		return b[at+uint64(e.Uint32(b[at:])):][:e.Uint32(b[at+4:])], nil, e.Uint64(b[at+8:])
	}
	pos, ksize, vsize := at+uint64(e.Uint32(b[at+4:])), uint64(e.Uint32(b[at+8:])), uint64(e.Uint32(b[at+12:]))
	return b[pos : pos+ksize], b[pos+ksize : pos+ksize+vsize], uint64(e.Uint32(b[at:]))
}

// noBuckets checks that a leaf page holds values only. rondo keeps no buckets within buckets.
func noBuckets(b []byte) error {
	for i := range int(binary.NativeEndian.Uint16(b[10:])) {
		if _, _, flags := element(b, i, false); flags != 0 {
			return fmt.Errorf("element %d is of kind %#x", i, flags)
		}
	}
	return nil
}
