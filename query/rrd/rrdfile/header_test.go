package rrdfile_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/rondo-db/rondo/query/rrd/rrdfile"
)

// TestNothingButHeader: a large file may end with its header, or within it, and is read in pieces
// as it is at once.
func TestNothingButHeader(t *testing.T) {
	const archives = 3000
	const head, source, archive, live, cdp = 128, 120, 120, 16 + 112, 80 // sizes
	raw := binaryOf(t, fixed(t, 10, "DS:a:GAUGE:20:U:U", "RRA:LAST:0:1:5"))
	next := func(n int) (part []byte) {
		part, raw = bytes.Clone(raw[:n]), raw[n:]
		return part
	}
	b := next(head)
	binary.LittleEndian.PutUint64(b[32:], archives)
	b = append(b, next(source)...)
	empty := next(archive)
	binary.LittleEndian.PutUint64(empty[24:], 0) // rows
	b = append(b, bytes.Repeat(empty, archives)...)
	b = append(b, next(live)...)
	b = append(b, bytes.Repeat(next(cdp), archives)...)
	b = append(b, make([]byte, 8*archives)...) // current rows
	for _, size := range []int{len(b), len(b) - 1, len(b) / 2} {
		_, want := rrdfile.Decode(b[:size])
		_, err := rrdfile.Read(bytes.NewReader(b[:size]), int64(size))
		if size == len(b) && want != nil || (err == nil) != (want == nil) || err != nil && err.Error() != want.Error() {
			t.Errorf("%d of %d bytes: %v, and in pieces %v", size, len(b), want, err)
		}
	}
}
