package rrdtool

import (
	"bytes"
	"io"
)

// A lineReader returns the lines that have arrived before it waits for more. It cuts a line that is
// too long after maxPipeLine+1 bytes and skips the rest of it.
type lineReader struct {
	in       io.Reader
	buf      []byte
	from, to int   // the part of buf that was not returned yet
	looked   int   // no line ends between from and looked
	err      error // error of in, returned after the last line
}

// pipeBuffer is how many bytes are read at once. It also bounds the lines of one burst.
const pipeBuffer = 64 << 10

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{in: in, buf: make([]byte, pipeBuffer)}
}

// next returns the next line without its end. ok is false if no complete line has arrived. The line
// is valid until read is called.
func (l *lineReader) next() (line []byte, ok bool) {
	i := bytes.IndexByte(l.buf[l.looked:l.to], '\n')
	if i < 0 {
		l.looked = l.to
		return nil, false
	}
	i += l.looked
	line = l.buf[l.from:i]
	l.from, l.looked = i+1, i+1
	return line, true
}

// rest returns the last line of an input that does not end with a line feed.
func (l *lineReader) rest() []byte { return l.buf[l.from:l.to] }

// read waits for more input. Call it after next has returned no line.
func (l *lineReader) read() error {
	if l.err != nil {
		return l.err
	}
	if l.from > 0 {
		l.to = copy(l.buf, l.buf[l.from:l.to])
		l.from, l.looked = 0, l.to
	}
	if l.to > maxPipeLine {
		return l.readOver()
	}
	if l.to == len(l.buf) {
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	n, err := l.in.Read(l.buf[l.to:])
	l.to += n
	return l.keep(n, err)
}

// readOver is read inside a line that is too long.
func (l *lineReader) readOver() error {
	const cut = maxPipeLine + 1
	if len(l.buf) < cut+pipeBuffer {
		l.buf = append(l.buf, make([]byte, cut+pipeBuffer-len(l.buf))...)
	}
	n, err := l.in.Read(l.buf[cut:])
	more := l.buf[cut : cut+n]
	if i := bytes.IndexByte(more, '\n'); i >= 0 {
		more = more[i:]
	} else {
		more = nil
	}
	l.looked = cut
	l.to = cut + copy(l.buf[cut:], more)
	return l.keep(n, err)
}

// keep delays an error that came together with input, until that input has been returned.
func (l *lineReader) keep(n int, err error) error {
	if n > 0 && err != nil {
		l.err, err = err, nil
	}
	return err
}

// maxPipeLine bounds a line of pipe mode, in bytes.
const maxPipeLine = 1 << 20
