package rrdfile

import (
	"encoding/binary"
	"fmt"
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
