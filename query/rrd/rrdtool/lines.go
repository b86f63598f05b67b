package rrdtool

import (
	"bytes"
	"io"
)

// A lineReader gives out the lines that have arrived before it waits for more. One that is too long
// is cut behind the byte that makes it so; the rest of it is read over.
type lineReader struct {
	in       io.Reader
	buf      []byte
	from, to int   // the part that was not given out
	looked   int   // no line ends between from and here
	err      error // of in, to be told when all lines are given out
}

// pipeBuffer is how much is read at once, and with it what the lines of one batch can have.
const pipeBuffer = 64 << 10

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{in: in, buf: make([]byte, pipeBuffer)}
}

// next returns the next line without its end; ok says whether there is one that has arrived whole.
// It is valid until read is called.
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

// rest returns the line that the input ended in.
func (l *lineReader) rest() []byte { return l.buf[l.from:l.to] }

// read waits for more input. next has said that there is no line.
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

// readOver is read within a line that is too long.
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

// keep puts an error off until what came with it is given out.
func (l *lineReader) keep(n int, err error) error {
	if n > 0 && err != nil {
		l.err, err = err, nil
	}
	return err
}

// maxPipeLine bounds a line of pipe mode.
const maxPipeLine = 1 << 20
