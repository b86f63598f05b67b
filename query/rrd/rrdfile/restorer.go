package rrdfile

import (
	"fmt"

	"github.com/rondo-db/rondo/rra"
)

// XMLOptions say how a dump is read.
type XMLOptions struct {
	// RangeCheck replaces values outside the minimum and maximum of their data source by unknown,
	// as `rrdtool restore --range-check` does: in all archives, whatever their CF.
	RangeCheck bool

	// WholeHistory keeps the whole history of FAILURES archives. rrdtool's restore keeps only the
	// newest ten PDPs.
	WholeHistory bool

	// XenServer takes what XenServer's daemon xcp-rrdd writes and a series cannot hold or rrdtool
	// refuses: names of up to [rra.MaxName] bytes, a heartbeat of Infinity, which becomes 2^31 - 1
	// seconds, and an xff of 1, which becomes [MostUnknown].
	XenServer bool
}

// MostUnknown is an xff just below 1, which no series can have: one known PDP of a million is
// enough for a row.
const MostUnknown = 0.999999

// A restorer reads the elements of a dump.
type restorer struct {
	x *xmlReader
	o XMLOptions
	f *File

	// unusable is a mistake that rrdtool does not report, although it cannot read the file that it
	// makes. It is returned only if rrdtool finds no mistake in the rest of the dump.
	unusable error
}

func (p *restorer) ok() bool { return p.x.err == nil }

// child finds the next element inside the one that was opened last. ok is false at its end.
func (p *restorer) child() (name string, ok bool) {
	switch p.x.next() {
	case xmlOpen:
		return p.x.name, true
	case xmlText:
		p.x.fail("line", "expected element but found text '%s'", p.x.rest)
	}
	return "", false
}

// children calls read for each element inside the one that was opened last, up to its end. read
// takes the whole element.
func (p *restorer) children(read func(name string)) {
	for p.ok() {
		name, ok := p.child()
		if !ok {
			return
		}
		read(name)
	}
}

// word returns the first word of the text of the element that was opened last, and reads up to the
// end of the element. The word is valid until the next call.
func (p *restorer) word() []byte {
	switch p.x.next() {
	case xmlText:
		p.endOf(p.x.open[len(p.x.open)-1])
		return p.x.word
	case xmlOpen:
		p.x.fail("line", "expected a value but found a <%s> element", p.x.name)
	}
	return nil
}

// endOf reads the end of an element that must not contain anything more.
func (p *restorer) endOf(name string) {
	word := p.x.word
	switch p.x.next() {
	case xmlOpen:
		p.x.fail("line", "expected </%s> end element but found <%s>", name, p.x.name)
	case xmlText:
		p.x.fail("line", "expected element but found text '%s'", p.x.rest)
	}
	p.x.word = word
}

// text is word for a string of less than size bytes.
func (p *restorer) text(size int) string {
	w := p.word()
	if len(w) >= size {
		p.x.fail("", "'%s' is longer than %d", w, size)
		return ""
	}
	return string(w)
}

// sourceName reads the name of a data source.
func (p *restorer) sourceName() string {
	if p.o.XenServer {
		return p.text(rra.MaxName + 1)
	}
	return p.text(nameSize)
}

// refuse makes the dump unusable: ReadXML fails after it has read the whole dump.
func (p *restorer) refuse(format string, args ...any) {
	if p.unusable == nil {
		p.unusable = &XMLError{Line: p.x.line, Err: fmt.Sprintf(format, args...)}
	}
}

// The limits of a dump. Definition and state take about twenty times the memory of their elements,
// so a dump with more of them than a series may have is refused early.
const (
	maxElements = 1 << 16 // data sources, or archives
	maxCells    = 1 << 20 // archives times data sources
)
