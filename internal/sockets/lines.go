package sockets

import (
	"bytes"
	"errors"
	"io"
)

const (
	// The buffer of a stream of lines begins small, and grows when reads fill it.
	firstLines = 4 << 10
	lastLines  = 128 << 10
	// endless is how many bytes of a line that is too long are skipped.
	endless = 1 << 20
)

// ErrEndless is the error of ReadLines where a line does not end.
var ErrEndless = errors.New("a line does not end")

// ReadLines reads r to its end. It calls take with the whole lines that have arrived, each with its
// line feed; the bytes are valid until take returns. It calls long with the beginning of a line
// that is not finished and longer than most bytes, which must be less than 64 KiB, and skips the
// line. rest is the length of what was read of an unfinished line. The error comes from r, or is
// ErrEndless; it is not nil.
func ReadLines(r io.Reader, most int, take, long func(text []byte)) (rest int, err error) {
	buf := make([]byte, firstLines)
	kept, skipped := 0, 0 // bytes of an unfinished line: in buf, or skipped
	for {
		n, err := r.Read(buf[kept:])
		full := kept+n == len(buf)
		text := buf[:kept+n]
		if skipped > 0 {
			_, after, ended := bytes.Cut(text, []byte{'\n'})
			if skipped += len(text); skipped > endless && !ended {
				return 0, ErrEndless
			}
			if text = after; ended {
				skipped = 0
			}
		}
		whole := bytes.LastIndexByte(text, '\n') + 1
		if whole > 0 {
			take(text[:whole])
		}
		left := text[whole:]
		if len(left) > most {
			long(left)
			left, skipped = nil, len(left)
		}
		kept = copy(buf, left)
		if err != nil {
			return kept, err
		}
		if full && len(buf) < lastLines {
			buf = append(make([]byte, 0, 2*len(buf)), buf...)
			buf = buf[:cap(buf)]
		}
	}
}
