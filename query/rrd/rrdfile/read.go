package rrdfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/rondo-db/rondo/rra"
)

// run reads parts of the file, which follow each other, up to the first error.
func (d *decoder) run(parts ...func() error) error {
	for _, read := range parts {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// decode reads the file behind its head.
func (d *decoder) decode() (*File, error) {
	if err := d.run(d.definition, d.checkSize, d.live, d.cdps, d.rows); err != nil {
		return nil, err
	}
	return d.f, nil
}

// head reads the head of the file, which says how large the header is.
func (d *decoder) head() error {
	if len(d.b) < versionEnd || string(d.b[:4]) != magic {
		return ErrNotRRD
	}
	version := string(d.b[4:8])
	if d.b[8] != 0 || version < "0001" || version > "0005" {
		return &VersionError{text(d.b[4:versionEnd])}
	}
	var ok bool
	if d.layout, ok = layoutOf(d.b); !ok {
		if len(d.b) < native.headSize() {
			return d.fail(len(d.b), "head", "the file ends")
		}
		return d.fail(native.cookieAt(), "float_cookie", "was not written by a machine that is known")
	}
	d.f = &File{Version: int(version[3] - '0')}
	at := d.countsAt()
	counts := [3]uint64{d.word(d.b[at:]), d.word(d.b[at+d.long:]), d.word(d.b[at+2*d.long:])}
	most := uint64(d.size)
	switch {
	case counts[0] == 0 || counts[0] > most/uint64(d.sourceSize()):
		return d.fail(at, "ds", "%d data sources in a file of %d bytes", counts[0], d.size)
	case counts[1] == 0 || counts[1] > most/uint64(d.archiveSize()):
		return d.fail(at+d.long, "rra", "%d archives in a file of %d bytes", counts[1], d.size)
	case counts[2] == 0 || counts[2] > math.MaxInt64:
		return d.fail(at+2*d.long, "step", "%d seconds", counts[2])
	}
	d.sources, d.archives = int(counts[0]), int(counts[1])
	d.f.Definition.Step = int64(counts[2])
	// Both counts are below 2^32/100, so that this does not overflow.
	if need := d.headerSize(d.f.Version, int64(d.sources), int64(d.archives)); need > d.size {
		return d.fail(int(min(d.size, math.MaxInt)), "header", "the file ends; the header has %d bytes", need)
	}
	d.at = d.headSize()
	return nil
}

// definition reads the definitions of data sources and archives, and allocates their state.
func (d *decoder) definition() error {
	d.f.State.Sources, d.f.State.Archives = make([]rra.SourceSnapshot, d.sources), make([]rra.ArchiveSnapshot, d.archives)
	def := &d.f.Definition
	def.Sources = make([]rra.DataSource, d.sources)
	def.Archives = make([]rra.Archive, d.archives)
	sourcesAt := d.at
	for i := range def.Sources {
		if err := d.source(i, d.b[d.at:]); err != nil {
			return err
		}
		d.at += d.sourceSize()
	}
	// An expression may refer to any data source, so expressions come last.
	for i := range def.Sources {
		if def.Sources[i].Kind == rra.Compute {
			at := sourcesAt + i*d.sourceSize() + 2*nameSize
			if err := d.expression(i, at); err != nil {
				return err
			}
		}
	}
	for i := range def.Archives {
		if err := d.archive(i, d.b[d.at:]); err != nil {
			return err
		}
		d.at += d.archiveSize()
	}
	return nil
}

func (d *decoder) source(i int, b []byte) error {
	s := &d.f.Definition.Sources[i]
	field := func(name string) string { return fmt.Sprintf("ds[%d].%s", i, name) }
	name, kind := b[:nameSize], b[nameSize:2*nameSize]
	if name[nameSize-1] != 0 {
		return d.fail(d.at, field("name"), "does not end")
	}
	s.Name = text(name)
	var ok bool
	if s.Kind, ok = parseName(kind, rra.Compute); !ok {
		return d.fail(d.at+nameSize, field("type"), "unknown data acquisition function '%s'", text(kind))
	}
	s.Min, s.Max = math.NaN(), math.NaN()
	if s.Kind == rra.Compute {
		return nil
	}
	p := b[2*nameSize:]
	s.Heartbeat = int64(d.word(p))
	s.Min, s.Max = d.double(p[paramSize:]), d.double(p[2*paramSize:])
	return nil
}

// Indices of the parameters of an archive.
const (
	paramXFF       = 0 // AVERAGE, MIN, MAX, LAST
	paramAlpha     = 1 // HWPREDICT, MHWPREDICT
	paramBeta      = 2
	paramGamma     = 1 // SEASONAL, DEVSEASONAL
	paramSmoothing = 2
	paramDeltaPos  = 1 // FAILURES
	paramDeltaNeg  = 2
	paramPartner   = 3 // all of the Holt-Winters family
	paramPeriod    = 4 // HWPREDICT, MHWPREDICT: the period, a double that nothing reads
	paramSmooth    = 4 // SEASONAL, DEVSEASONAL
	paramWindow    = 4 // FAILURES
	paramThreshold = 5
)

// maxWindow is the longest history of a FAILURES archive, in PDPs.
const maxWindow = 28

func (d *decoder) archive(i int, b []byte) error {
	a := &d.f.Definition.Archives[i]
	field := func(name string) string { return fmt.Sprintf("rra[%d].%s", i, name) }
	var ok bool
	if a.CF, ok = parseName(b[:nameSize], rra.Failures); !ok {
		return d.fail(d.at, field("cf"), "unknown consolidation function '%s'", text(b[:nameSize]))
	}
	rows, pdps := d.word(b[d.rowsAt():]), d.word(b[d.rowsAt()+d.long:])
	if rows > uint64(d.size-d.values*8)/uint64(8*d.sources) {
		return d.fail(d.at+d.rowsAt(), field("rows"), "%d rows in a file of %d bytes", rows, d.size)
	}
	d.values += int64(rows) * int64(d.sources)
	if pdps == 0 || pdps > math.MaxInt64 {
		return d.fail(d.at+d.rowsAt()+d.long, field("pdp_per_row"), "%d primary data points", pdps)
	}
	a.Rows, a.PDPs, a.Partner = int64(rows), int64(pdps), -1
	p := b[d.archiveParamsAt():]
	double := func(i int) float64 { return d.double(p[i*paramSize:]) }
	long := func(i int) uint64 { return d.word(p[i*paramSize:]) }
	if a.CF <= rra.Last {
		a.XFF = double(paramXFF)
		return nil
	}
	a.Partner = int(long(paramPartner))
	switch a.CF {
	case rra.HWPredict, rra.MHWPredict:
		a.Alpha, a.Beta = double(paramAlpha), double(paramBeta)
	case rra.Seasonal, rra.DevSeasonal:
		a.Gamma, a.SmoothingWindow = double(paramGamma), double(paramSmoothing)
		if d.f.Version < 4 {
			a.SmoothingWindow = math.NaN() // without meaning before version 4
		}
		d.f.State.Archives[i].SmoothRow = int64(long(paramSmooth))
	case rra.Failures:
		a.DeltaPos, a.DeltaNeg = double(paramDeltaPos), double(paramDeltaNeg)
		if n := long(paramWindow); n > maxWindow {
			return d.fail(d.at+d.archiveParamsAt()+paramWindow*paramSize, field("window_length"), "%d, at most %d is possible", n, maxWindow)
		}
		a.Window, a.Threshold = int(long(paramWindow)), int(long(paramThreshold))
	}
	return nil
}

// checkSize decides on the layout where the head leaves it open, and checks that the file is long
// enough. It may be longer: old versions of rrdtool left some bytes behind the last row.
func (d *decoder) checkSize() error {
	if d.long == 4 {
		if err := d.decideTime(); err != nil {
			return err
		}
	}
	if want := d.fullSize(); want > d.size {
		return d.fail(int(d.size), "rows", "the file ends; it should have %d bytes", want)
	}
	return nil
}

// fullSize returns the size of a file that ends with its last row.
func (d *decoder) fullSize() int64 {
	return d.headerSize(d.f.Version, int64(d.sources), int64(d.archives)) + d.values*8
}

// maxSecond is the latest second that an rra.Time can hold.
const maxSecond = math.MaxInt64/1_000_000 - 1

// live reads the last update and the state of the data sources.
func (d *decoder) live() error {
	x := &d.f.State
	sec := d.seconds(d.b[d.at:])
	if sec < -maxSecond || sec > maxSecond {
		return d.fail(d.at, "last_update", "%d is out of range", sec)
	}
	x.LastUpdate = rra.Seconds(sec)
	if d.f.Version >= 3 {
		micro := int64(d.word(d.b[d.at+d.time:]))
		if micro < 0 || micro >= 1e6 {
			return d.fail(d.at+d.time, "last_update", "%d microseconds", micro)
		}
		x.LastUpdate += rra.Time(micro)
	}
	d.at += d.liveSize(d.f.Version)
	for i := range x.Sources {
		b := d.b[d.at : d.at+pdpSize]
		if b[textSize-1] != 0 {
			return d.fail(d.at, fmt.Sprintf("ds[%d].last_ds", i), "does not end")
		}
		s := &x.Sources[i]
		s.LastReading = text(b[:textSize])
		p := b[pdpParamsAt:]
		s.UnknownSec, s.Value = int64(d.word(p)), d.double(p[paramSize:])
		d.at += pdpSize
	}
	return nil
}

// cdps reads the CDPs and the current rows of the archives.
func (d *decoder) cdps() error {
	x := &d.f.State
	all := make([]rra.CDP, d.archives*d.sources)
	for i := range x.Archives {
		a := &d.f.Definition.Archives[i]
		x.Archives[i].CDPs = all[i*d.sources : (i+1)*d.sources : (i+1)*d.sources]
		for j := range d.sources {
			d.cdp(&x.Archives[i].CDPs[j], a, d.b[d.at:d.at+paramsSize])
			d.at += paramsSize
		}
	}
	for i := range x.Archives {
		cur, err := d.currentRow(i)
		if err != nil {
			return err
		}
		x.Archives[i].CurRow = cur
	}
	return nil
}

func (d *decoder) currentRow(archive int) (int64, error) {
	cur, rows := d.word(d.b[d.at:]), d.f.Definition.Archives[archive].Rows
	if cur >= uint64(rows) && cur > 0 {
		return 0, d.fail(d.at, fmt.Sprintf("rra[%d].cur_row", archive), "%d of %d rows", cur, rows)
	}
	d.at += d.long
	return int64(cur), nil
}

func (d *decoder) cdp(c *rra.CDP, a *rra.Archive, b []byte) {
	for _, x := range cdpFields[a.CF] {
		if x.double != nil {
			*x.double(c) = d.double(b[x.at*paramSize:])
		} else {
			*x.long(c) = int64(d.word(b[x.at*paramSize:]))
		}
	}
	if a.CF == rra.Failures {
		var history [maxWindow]byte
		for i := range a.Window {
			history[i] = '0' + b[i]
		}
		c.History = string(history[:a.Window])
	}
}

// rows reads all rows, oldest first.
func (d *decoder) rows() error {
	all := d.free
	if int64(cap(all)) < d.values {
		all = make([]float64, d.values)
	}
	all = all[:d.values]
	for i := range d.f.State.Archives {
		a := &d.f.State.Archives[i]
		n := int(d.f.Definition.Archives[i].Rows) * d.sources
		a.Rows, all = all[:n:n], all[n:]
		if n == 0 {
			continue
		}
		// The row after the current one is the oldest.
		oldest := (int(a.CurRow) + 1) * d.sources
		if err := d.some(a.Rows[n-oldest:]); err != nil {
			return err
		}
		if err := d.some(a.Rows[:n-oldest]); err != nil {
			return err
		}
	}
	return nil
}

// some fills dst with the next doubles of the file.
func (d *decoder) some(dst []float64) error {
	if d.in == nil {
		d.doubles(dst, d.b[d.at:d.at+8*len(dst)])
		d.at += 8 * len(dst)
		return nil
	}
	for len(dst) > 0 {
		n := min(len(dst), len(d.buf)/8)
		b := d.buf[:8*n]
		if err := readFull(d.in, b, int64(d.at)); err != nil {
			return err
		}
		d.doubles(dst[:n], b)
		d.at, dst = d.at+8*n, dst[n:]
	}
	return nil
}

// doubles fills dst from b.
func (d *decoder) doubles(dst []float64, b []byte) {
	b = b[:8*len(dst)]
	if d.order == native.order {
		for i := range dst {
			dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
		return
	}
	for i := range dst {
		dst[i] = d.double(b[8*i:])
	}
}

// A decoder reads a native file from front to back.
type decoder struct {
	layout
	b    []byte      // the whole file, or its header
	size int64       // bytes of the whole file
	at   int         // offset of the next field
	free []float64   // memory for the rows
	in   io.ReaderAt // where rows are read from, through buf; nil: b is the whole file
	buf  []byte

	sources, archives int
	values            int64 // values in all archives
	f                 *File
}

func (d *decoder) fail(at int, field, format string, args ...any) error {
	return &FormatError{int64(at), field, fmt.Sprintf(format, args...)}
}

// readFull fills b from offset at.
func readFull(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

// Read reads a native file of size bytes. The error is an error of r or of [Decode].
func Read(r io.ReaderAt, size int64) (*File, error) { return new(Reader).Read(r, size) }

// Decode reads a native file from memory. It keeps no part of b. The error is [ErrNotRRD], a
// [*VersionError] or a [*FormatError].
func Decode(b []byte) (*File, error) { return new(Reader).Decode(b) }

// LastUpdate returns the time of the last update in a native file. b must be the whole file. It
// returns the errors of [Decode].
func LastUpdate(b []byte) (rra.Time, error) {
	d := decoder{b: b, size: int64(len(b))}
	if err := d.run(d.head, d.definition, d.checkSize, d.live); err != nil {
		return 0, err
	}
	return d.f.State.LastUpdate, nil
}

// A Reader reads one native file after another and reuses its memory. The zero value is ready for
// use. Only one goroutine may use it at a time.
type Reader struct {
	// Room is the memory for the rows of the next file, if its capacity is large enough.
	Room []float64

	buf []byte
}

// The beginning of a file is read in a piece of headBytes, in which most headers fit. Rows are read
// in pieces of rowBytes.
const (
	headBytes = 8 << 10
	rowBytes  = 256 << 10
)

// Read is the function [Read].
func (x *Reader) Read(r io.ReaderAt, size int64) (*File, error) {
	if size > maxSize {
		return nil, &FormatError{0, "size", fmt.Sprintf("%d bytes, more than %d", size, int64(maxSize))}
	}
	if n := int(min(size, rowBytes)); len(x.buf) < n {
		x.buf = make([]byte, n)
	}
	if size <= rowBytes {
		b := x.buf[:size]
		if err := readFull(r, b, 0); err != nil {
			return nil, err
		}
		return x.Decode(b)
	}
	b := x.buf[:headBytes]
	if err := readFull(r, b, 0); err != nil {
		return nil, err
	}
	d := decoder{b: b, size: size, in: r, buf: x.buf, free: x.Room}
	if err := d.head(); err != nil {
		return nil, err
	}
	// A longer header is read only after its head has been checked.
	if n := d.headerSize(d.f.Version, int64(d.sources), int64(d.archives)) + 8; n > headBytes {
		d.b = make([]byte, min(n, size))
		if err := readFull(r, d.b, 0); err != nil {
			return nil, err
		}
	} else {
		d.b = bytes.Clone(b) // the buffer is needed for rows
	}
	return d.decode()
}

// Decode is the function [Decode].
func (x *Reader) Decode(b []byte) (*File, error) {
	d := decoder{b: b, size: int64(len(b)), free: x.Room}
	if err := d.head(); err != nil {
		return nil, err
	}
	return d.decode()
}

// maxSize is the size of the largest native file that is read, in bytes.
const maxSize = math.MaxInt32

// The head of a file of a 32-bit machine does not say whether a time has 4 or 8 bytes. The size of
// the file does not either, since a file may be longer than its rows or cut off. What follows the
// time is read in both layouts, and only in the right one it is what rrdtool writes:
//
//   - microseconds are below a million, and a reading, which is text, is a number far above that;
//   - a reading ends within its 30 bytes, and NULs follow it up to the last of them;
//   - the current row of an archive is below its rows, and most halves of a double are above them;
//   - the last update lies in this time.
//
// A file that fits both layouts equally well is refused.

// decideTime sets the size of a time to the one that fits the content of the file better.
func (d *decoder) decideTime() error {
	short, errShort := d.fit(4)
	long, errLong := d.fit(8)
	switch {
	case short > long:
		d.time = 4
	case long > short:
		d.time = 8
	case short == fitsNot:
		if d.time = 8; d.fullSize() == d.size {
			return errLong
		}
		return errShort
	default:
		return d.fail(d.at, "last_update", "the file fits times of 32 bits and times of 64 bits")
	}
	return nil
}

// The results of fit besides the number of readings.
const (
	fitsNot   = -2
	fitsOddly = -1 // holds what rrdtool does not write
)

// The seconds between which an ordinary file was updated last: 1980, before which rrdtool makes no
// file, and the year 2514.
const (
	earliest = 315_360_000
	latest   = 1 << 34
)

// fit returns how well the content fits times of a size: the number of readings that are a text, or
// fitsOddly, or fitsNot and the reason.
func (d *decoder) fit(size int) (int, error) {
	at := d.at
	defer func() { d.at = at }()
	d.time = size
	end := d.headerSize(d.f.Version, int64(d.sources), int64(d.archives))
	if end > int64(len(d.b)) {
		return fitsOddly, nil // only the layout with shorter times can be read
	}
	readings := d.at + d.liveSize(d.f.Version)
	if err := d.live(); err != nil {
		return fitsNot, err
	}
	d.at = int(end) - d.archives*d.long
	for i := range d.archives {
		if _, err := d.currentRow(i); err != nil {
			return fitsNot, err
		}
	}
	if last := d.f.State.LastUpdate.Unix(); last < earliest || last >= latest {
		return fitsOddly, nil
	}
	n := 0
	for i := range d.sources {
		b := d.b[readings+i*pdpSize:][:textSize]
		text, rest, _ := bytes.Cut(b, []byte{0})
		if bytes.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }) || len(bytes.Trim(rest, "\x00")) > 0 {
			return fitsOddly, nil
		}
		if len(text) > 0 {
			n++
		}
	}
	return n, nil
}
