package rrdd

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A Reader reads one plugin's file again and again. Errors are of type *receivers.Error, with one
// of these reasons:
//
//   - Truncated: the file is shorter than it announces.
//   - Malformed: the file does not begin as such files do, or its JSON is wrong.
//   - Checksum: MD5 or a CRC does not match, or rrd-client-lib has written no sample yet.
//   - Limit: the file announces more than MaxFile bytes, or has more than MaxSources data sources.
//
// It remembers the data sources and the checksums of the last reading, so that reading an unchanged
// file is cheap. The zero value is ready.
type Reader struct {
	work *workspace

	version    int // 0: nothing has been read yet
	size       int64
	timestamp  float64
	sources    []Source
	generation uint64 // changes when sources do
	dataSum    uint32 // version 2
	metaSum    uint32
	textSum    [md5.Size]byte // version 1
}

// A workspace is the memory that a Reader needs while it reads. All Readers of a receiver share
// one; it holds the results of the Reader that has read last.
type workspace struct {
	buf  []byte
	text []byte // the part of the file that has been read, in buf
	want int64  // how many bytes of the file are likely to be needed
	doc  document
	head [v1Text]byte
}

// first is how many bytes are read at once of a file that has not been read before.
const first = 4096

// Read reads src, a file of size bytes, and reports whether it has changed. If so, the other
// methods return the new content. A file has not changed if the checksum of its data (version 2) or
// of its whole text (version 1) is the last reading's; no more than 15 bytes of version 2, or 54 of
// version 1, are read then.
//
// It returns errors of Decode and of src. After an error the methods return the content of the last
// reading. A file in which rrd-client-lib has written no sample yet is not an error.
//
// The file may be rewritten while it is read. That is an error: the content must match the
// checksums that the file has before and after.
func (r *Reader) Read(src io.ReaderAt, size int64) (updated bool, err error) {
	same, err := r.unchanged(src, size)
	if same || err != nil {
		return false, err
	}
	if err = r.decode(src, size); errors.Is(err, errNoSample) {
		return false, nil
	}
	return err == nil, err
}

// Timestamp returns the timestamp of the file in seconds since 1970. It may be any number, or NaN.
func (r *Reader) Timestamp() float64 { return r.timestamp }

// Sources returns the data sources of the file. They must not be changed.
func (r *Reader) Sources() []Source { return r.sources }

// Generation returns a number that changes whenever Sources does.
func (r *Reader) Generation() uint64 { return r.generation }

// Values returns the values of the file, one for each of Sources: an integer if that is Int64, else
// a double. They are valid until the next Read.
func (r *Reader) Values() []rra.Value { return r.space().doc.values }

func (r *Reader) space() *workspace {
	if r.work == nil {
		r.work = new(workspace)
	}
	return r.work
}

// unchanged reports whether the beginning of src says that the file has not changed.
func (r *Reader) unchanged(src io.ReaderAt, size int64) (bool, error) {
	if r.version == 0 {
		return false, nil
	}
	w := r.space()
	w.text = nil
	head, err := w.front(src, min(size, v2MetaSum))
	if err != nil || len(head) < v2MetaSum {
		return false, err
	}
	if r.version == 2 {
		return spelled(head) && binary.BigEndian.Uint32(head[v2DataSum:]) == r.dataSum, nil
	}
	if head[v2DataSum] != '\n' {
		return false, nil
	}
	if head, err = w.front(src, min(size, v1Text)); err != nil || !isV1(head) {
		return false, err
	}
	sum, ok := v1MD5(head)
	return ok && sum == r.textSum, nil
}

// front reads the first n bytes of src, or fewer if it is shorter.
func (w *workspace) front(src io.ReaderAt, n int64) ([]byte, error) {
	k, err := src.ReadAt(w.head[:n], 0)
	if err == io.EOF {
		err = nil
	}
	return w.head[:k], err
}

// fill reads src from its beginning until w.text has need bytes. It allocates no more memory than
// src has bytes.
func (w *workspace) fill(src io.ReaderAt, size, need int64) error {
	if need > size {
		return &receivers.Error{Reason: receivers.Truncated, Offset: int(min(size, math.MaxInt)), What: fmt.Sprintf("%d bytes are announced, there are %d", need, size)}
	}
	if need > MaxFile {
		return &receivers.Error{Reason: receivers.Limit, What: fmt.Sprintf("%d bytes are announced, %d are the limit", need, MaxFile)}
	}
	if need <= int64(len(w.text)) {
		return nil
	}
	n := min(max(need, w.want), size)
	if int64(len(w.buf)) < n {
		w.buf = make([]byte, n)
	}
	k, err := src.ReadAt(w.buf[:n], 0)
	w.text = w.buf[:k]
	if err != nil && err != io.EOF {
		return err
	}
	if int64(k) < need {
		return &receivers.Error{Reason: receivers.Truncated, Offset: k, What: fmt.Sprintf("%d bytes are announced, there are %d", need, k)}
	}
	return nil
}

func (r *Reader) decode(src io.ReaderAt, size int64) error {
	w := r.space()
	w.text, w.want = nil, max(r.size, first)
	if err := w.fill(src, size, min(size, v2Values)); err != nil {
		return err
	}
	if n := min(len(w.text), len(magic)); string(w.text[:n]) != magic[:n] && string(w.text[:n]) != magicOld[:n] {
		return &receivers.Error{Reason: receivers.Malformed, What: fmt.Sprintf("begins with %q", w.text[:n])}
	}
	if isV1(w.text) {
		return r.decode1(src, size)
	}
	return r.decode2(src, size)
}

func spelled(b []byte) bool {
	return len(b) >= len(magic) && (string(b[:len(magic)]) == magic || string(b[:len(magic)]) == magicOld)
}

// isV1 reports whether a file that begins with b is of version 1. Byte 19 of one of version 2 is
// the top byte of the number of data sources, and no digit.
func isV1(b []byte) bool {
	if len(b) < v1Sum || string(b[:len(magic)]) != magic || b[len(magic)] != '\n' || b[v1Sum-1] != '\n' {
		return false
	}
	_, ok := v1Size(b)
	return ok
}

// v1Size reads how long the text is in the header of version 1.
func v1Size(b []byte) (n int64, ok bool) {
	var size [4]byte
	_, err := hex.Decode(size[:], b[v1Length:v1Length+8])
	return int64(binary.BigEndian.Uint32(size[:])), err == nil
}

// v1MD5 reads the checksum in the header of version 1.
func v1MD5(b []byte) (sum [md5.Size]byte, ok bool) {
	if len(b) < v1Text || b[v1Text-1] != '\n' {
		return sum, false
	}
	_, err := hex.Decode(sum[:], b[v1Sum:v1Sum+2*md5.Size])
	return sum, err == nil
}

func (r *Reader) decode1(src io.ReaderAt, size int64) error {
	w := r.work
	if err := w.fill(src, size, v1Text); err != nil {
		return err
	}
	n, _ := v1Size(w.text) // isV1 has looked
	sum, ok := v1MD5(w.text)
	if !ok {
		return &receivers.Error{Reason: receivers.Malformed, Offset: v1Sum, What: "MD5 is no 32 hexadecimal digits and a line feed"}
	}
	if err := w.fill(src, size, v1Text+n); err != nil {
		return err
	}
	text := w.text[v1Text : v1Text+n]
	if md5.Sum(text) != sum {
		return &receivers.Error{Reason: receivers.Checksum, Offset: v1Sum, What: "MD5 of the text does not match"}
	}
	if err := w.doc.read(1, text, v1Text, r.sources); err != nil {
		return err
	}
	r.remember(w.doc.sources)
	r.version, r.size, r.timestamp, r.textSum = 1, v1Text+n, w.doc.timestamp, sum
	return nil
}

func (r *Reader) decode2(src io.ReaderAt, size int64) error {
	w := r.work
	if err := w.fill(src, size, v2Values); err != nil {
		return err
	}
	n := int64(binary.BigEndian.Uint32(w.text[v2Count:]))
	meta := v2Values + 8*n + 4
	if err := w.fill(src, size, meta); err != nil {
		return err
	}
	if n > MaxSources {
		return &receivers.Error{Reason: receivers.Limit, Offset: v2Count, What: fmt.Sprintf("%d data sources", n)}
	}
	m := binary.BigEndian.Uint32(w.text[meta-4:])
	if err := w.fill(src, size, meta+int64(m)); err != nil {
		return err
	}
	b := w.text[:meta+int64(m)]
	if err := w.verify(src, b, int(meta)); err != nil {
		return err
	}
	metaSum := binary.BigEndian.Uint32(b[v2MetaSum:])
	sources := r.sources
	if r.version != 2 || metaSum != r.metaSum {
		if err := w.doc.read(2, bytes.TrimRight(b[meta:], "\x00"), int(meta), r.sources); err != nil {
			return err
		}
		sources = w.doc.sources
	}
	if len(sources) != int(n) {
		return &receivers.Error{Reason: receivers.Malformed, Offset: v2Count, What: fmt.Sprintf("%d values, but metadata of %d", n, len(sources))}
	}
	w.doc.values = w.doc.values[:0]
	for i := range sources {
		v := rra.Value{Bits: binary.BigEndian.Uint64(b[v2Values+8*i:]), Tag: rra.TagFloat}
		if sources[i].ValueType == Int64 {
			v.Tag = rra.TagInt
		}
		w.doc.values = append(w.doc.values, v)
	}
	r.remember(sources)
	r.version, r.size, r.timestamp = 2, int64(len(b)), parseTime(binary.BigEndian.Uint64(b[v2Time:]))
	r.dataSum, r.metaSum = binary.BigEndian.Uint32(b[v2DataSum:]), metaSum
	return nil
}

// verify checks the checksums of b, the used part of a file of version 2, whose metadata begins at
// meta. It checks known metadata too, although that is not parsed again: a writer that was
// interrupted between writing the two checksums has left the new checksum of the values beside the
// old checksum of metadata that has changed. Finally the header must still be the same in src.
func (w *workspace) verify(src io.ReaderAt, b []byte, meta int) error {
	bad := func(offset int, what string) error {
		return &receivers.Error{Reason: receivers.Checksum, Offset: offset, What: what}
	}
	want := binary.BigEndian.Uint32(b[v2DataSum:])
	if got := crc32.ChecksumIEEE(b[v2Time : meta-4]); got != want {
		if want == openSum && meta == v2Values+4 {
			return errNoSample
		}
		return bad(v2DataSum, fmt.Sprintf("CRC of the values is %08x, not %08x", got, want))
	}
	want = binary.BigEndian.Uint32(b[v2MetaSum:])
	if got := crc32.ChecksumIEEE(b[meta:]); got != want {
		return bad(v2MetaSum, fmt.Sprintf("CRC of the metadata is %08x, not %08x", got, want))
	}
	head, err := w.front(src, v2Time)
	if err == nil && !bytes.Equal(head, b[:v2Time]) {
		err = errChanged
	}
	return err
}

// parseTime reads a timestamp of version 2: a double or, as the first description of the format
// says, an int64. A present time as an int64 is a tiny number if it is read as a double.
func parseTime(b uint64) float64 {
	x := math.Float64frombits(b)
	if a := math.Abs(x); a >= 1e-3 && a <= 1e18 {
		return x
	}
	return float64(int64(b))
}

// remember keeps sources, if they differ from those that r has.
func (r *Reader) remember(sources []Source) {
	if r.generation == 0 || !slices.Equal(r.sources, sources) {
		r.sources = slices.Clone(sources)
		r.generation++
	}
}
