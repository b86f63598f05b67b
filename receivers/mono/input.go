package mono

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/rondo-db/rondo/receivers"
)

// An input reads the parts of messages. After an error all that it reads is zero.
type input struct {
	in   *bufio.Reader
	read int64 // bytes that were taken
	err  error // the first; it stays
}

// fail notes what is wrong at an offset.
func (in *input) fail(r receivers.Reason, offset int64, format string, args ...any) {
	if in.err == nil {
		in.err = &receivers.Error{Reason: r, Offset: int(offset), What: fmt.Sprintf(format, args...)}
	}
}

// zeros are what is read after an error. Nobody writes to them.
var zeros [MaxText]byte

// next takes n bytes, MaxText at most. They are valid until more are read.
func (in *input) next(n int) []byte {
	var b []byte
	if in.err == nil {
		b, in.err = in.in.Peek(n)
	}
	if in.err != nil {
		return zeros[:n]
	}
	in.skip(n)
	return b
}

// skip takes n bytes that have arrived.
func (in *input) skip(n int) {
	_, _ = in.in.Discard(n) // they are in its buffer
	in.read += int64(n)
}

func (in *input) int16() int16 { return int16(binary.LittleEndian.Uint16(in.next(2))) }

func (in *input) int32() int32 { return int32(binary.LittleEndian.Uint32(in.next(4))) }

// text reads a string.
func (in *input) text() (s string, null bool) {
	at := in.read
	size := in.int32()
	switch {
	case size < 0:
		return "", true
	case size > MaxText:
		in.fail(receivers.Limit, at, "string of %d bytes, at most %d are allowed", size, MaxText)
		return "", false
	}
	b := in.next(int(size))
	if i := bytes.IndexByte(b, 0); i >= 0 {
		in.fail(receivers.Malformed, at+4+int64(i), "NUL in a string")
	}
	return string(b), false
}
