package mono

import (
	"bytes"
	"encoding/binary"

	"github.com/rondo-db/rondo/receivers"
)

// A stream assembles elements from pieces of bytes of any size. An element is a header, a string or
// a value. The longest element is a header with the longest name; a stream keeps no more bytes than
// an incomplete element has.
type stream struct {
	buf  []byte // the beginning of an incomplete element
	need int    // how many bytes the element has at least
	read int64  // bytes of complete elements
	err  error  // the first error; it stays
}

// An element function takes one or more elements from the beginning of b, and returns how many
// bytes they have. If the first element is incomplete it returns 0 and how many bytes it needs,
// which is more than len(b).
type element func(b []byte) (n, need int, err error)

func (s *stream) feed(p []byte, take element) error {
	for len(p) > 0 && s.err == nil {
		b, kept := p, len(s.buf) > 0
		if kept {
			k := min(s.need-len(s.buf), len(p))
			s.buf, p = append(s.buf, p[:k]...), p[k:]
			if len(s.buf) < s.need {
				break
			}
			b = s.buf
		}
		n, need, err := take(b)
		switch {
		case err != nil:
			s.err = err
		case n == 0 && kept:
			s.need = need
		case n == 0:
			s.buf, s.need, p = append(s.buf, p...), need, nil
		case kept: // to the last byte: need grows until it covers the whole element
			s.buf = s.buf[:0]
		default:
			p = p[n:]
		}
		s.read += int64(n)
	}
	return s.err
}

// text reads a string from b, which begins off bytes into the element. n is the number of bytes; if
// the string is incomplete n is 0, and need is how many bytes it has at least.
func (s *stream) text(b []byte, off int) (t []byte, null bool, n, need int, err error) {
	if len(b) < 4 {
		return nil, false, 0, 4, nil
	}
	size := int32(binary.LittleEndian.Uint32(b))
	if size < 0 {
		return nil, true, 4, 0, nil
	}
	if size > MaxText {
		return nil, false, 0, 0, failure(receivers.Limit, s.read+int64(off), "string of %d bytes, at most %d are allowed", size, MaxText)
	}
	n = 4 + int(size)
	if len(b) < n {
		return nil, false, 0, n, nil
	}
	if i := bytes.IndexByte(b[4:n], 0); i >= 0 {
		return nil, false, 0, 0, failure(receivers.Malformed, s.read+int64(off+4+i), "NUL in a string")
	}
	return b[4:n], false, n, 0, nil
}
