package transfer

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
)

// A file of Whisper holds big-endian numbers:
//
//	head      4 way of aggregation, 4 longest retention in seconds, 4 xFilesFactor (a float),
//	          4 number of archives
//	archives  each: 4 offset, 4 seconds of a point, 4 number of points; the finest one first
//	points    each: 4 second since 1970 at which it begins, 8 value (a double)
//
// The points of an archive are a ring. The first one may have any time, and says by its time where
// the others stand. A point that does not stand where it should is left of an earlier round, or was
// never written.
const (
	whisperHead    = 16
	whisperArchive = 12
	whisperPoint   = 12
	whisperPiece   = 4096 * whisperPoint // bytes of points that are read at a time
	whisperSum     = 2                   // the way of aggregation that adds
)

// whisperCFs are the consolidations that stand for the ways of aggregation, from 1: average, sum,
// last, max, min, avg_zero, absmax, absmin. Package receivers/graphite has the same ones for
// carbon's configuration.
var whisperCFs = [...]rra.CF{1: rra.Average, rra.Average, rra.Last, rra.Max, rra.Min, rra.Average, rra.Max, rra.Min}

// A whisper reads a file of Whisper.
type whisper struct {
	in       io.ReaderAt
	size     int64 // bytes of the file
	way      uint32
	xff      float64
	archives []ring
	piece    []byte
}

// A ring is an archive of Whisper.
type ring struct {
	at     int64 // offset of the points
	step   int64 // seconds of a point
	points int64
	first  int64 // time of the first point of the file; 0: the archive is empty
}

// readWhisper reads a file of size bytes that [rrdfile.IsWhisper] takes for one of Whisper. room is
// the memory for the rows if its capacity is large enough. Rows take two thirds of the bytes of the
// file.
//
// A point of the finest archive at second T is in the row that ends at T, where the receiver of
// Graphite puts a value of second T. A point of another archive, which begins at T, is in the row
// that begins at T: all finest points but one are the same.
func readWhisper(in io.ReaderAt, size int64, room []float64) (*rrdfile.File, error) {
	w := &whisper{in: in, size: size, piece: make([]byte, min(size, whisperPiece))}
	if err := w.head(); err != nil {
		return nil, fmt.Errorf("a file of Whisper: %w", err)
	}
	last, err := w.last()
	if err != nil {
		return nil, err
	}
	values := int64(0)
	for _, a := range w.archives {
		values += a.points
	}
	if int64(cap(room)) < values {
		room = make([]float64, values)
	}
	room = room[:values]
	f := w.file(last)
	for i := range w.archives {
		a := &w.archives[i]
		f.State.Archives[i].Rows, room = room[:a.points:a.points], room[a.points:]
		if err := w.rows(i, f.Newest(i), f.State.Archives[i].Rows); err != nil {
			return nil, err
		}
	}
	gatherOpen(f)
	if newest := f.State.Archives[0].Rows[w.archives[0].points-1]; newest == newest {
		f.State.Sources[0].LastReading = strconv.FormatFloat(newest, 'g', -1, 64)
	}
	return f, nil
}

// head reads the head and the archives, and the time of the first point of each.
func (w *whisper) head() error {
	var b [whisperHead]byte
	if err := w.read(b[:], 0); err != nil {
		return err
	}
	w.way = binary.BigEndian.Uint32(b[:])
	// The shortest text of the float is what was meant: 0.3, not 0.30000001192.
	fraction := math.Float32frombits(binary.BigEndian.Uint32(b[8:]))
	known, err := strconv.ParseFloat(strconv.FormatFloat(float64(fraction), 'g', -1, 32), 64)
	if err != nil {
		return err
	}
	w.xff = min(1-known, rrdfile.MostUnknown)
	n := int64(binary.BigEndian.Uint32(b[12:]))
	end := whisperHead + n*whisperArchive
	if end > w.size {
		return fmt.Errorf("cut off: the list of %d archives ends at byte %d, the file at %d", n, end, w.size)
	}
	for i := range n {
		if err := w.archive(whisperHead+i*whisperArchive, &end); err != nil {
			return fmt.Errorf("archive %d: %w", i, err)
		}
	}
	return nil
}

// archive reads what stands at an offset of the next archive, which begins at end or behind it, and
// moves end behind it: archives that share points would take more memory than the file.
func (w *whisper) archive(at int64, end *int64) error {
	var b [whisperArchive]byte
	if err := w.read(b[:], at); err != nil {
		return err
	}
	word := func(i int) int64 { return int64(binary.BigEndian.Uint32(b[i:])) }
	a := ring{at: word(0), step: word(4), points: word(8)}
	finer := ring{step: 1}
	if n := len(w.archives); n > 0 {
		finer = w.archives[n-1]
	}
	switch {
	case a.at < *end:
		return fmt.Errorf("offset %d, the part before it ends at %d", a.at, *end)
	case a.points == 0 || a.step == 0:
		return fmt.Errorf("%d points of %d seconds", a.points, a.step)
	case a.step%finer.step != 0 || len(w.archives) > 0 && a.step == finer.step:
		return fmt.Errorf("points of %d seconds are no multiple of %d", a.step, finer.step)
	}
	*end = a.at + a.points*whisperPoint
	if *end > w.size {
		return fmt.Errorf("cut off: it ends at byte %d, the file at %d", *end, w.size)
	}
	var first [whisperPoint]byte
	if err := w.read(first[:], a.at); err != nil {
		return err
	}
	if a.first = int64(binary.BigEndian.Uint32(first[:])); a.first%a.step != 0 {
		return fmt.Errorf("its first point is of second %d, which is no multiple of %d", a.first, a.step)
	}
	w.archives = append(w.archives, a)
	return nil
}

func (w *whisper) read(b []byte, at int64) error {
	n, err := w.in.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

// each calls f for each point of an archive that stands where it should.
func (w *whisper) each(archive int, f func(at int64, v float64)) error {
	a := &w.archives[archive]
	if a.first == 0 {
		return nil
	}
	for i := int64(0); i < a.points; {
		b := w.piece[:min((a.points-i)*whisperPoint, int64(len(w.piece)/whisperPoint*whisperPoint))]
		if err := w.read(b, a.at+i*whisperPoint); err != nil {
			return err
		}
		for ; len(b) > 0; b, i = b[whisperPoint:], i+1 {
			at := int64(binary.BigEndian.Uint32(b))
			if place := (at - a.first) / a.step % a.points; at != 0 && at%a.step == 0 && (place == i || place+a.points == i) {
				f(at, math.Float64frombits(binary.BigEndian.Uint64(b[4:])))
			}
		}
	}
	return nil
}

// last returns the second of the last update, which is the time of the newest point. An archive
// that is not the finest has newer points only if they were too old for the finer ones when they
// came: then the newest one has ended.
func (w *whisper) last() (last int64, err error) {
	for i := range w.archives {
		newest := int64(0)
		if err := w.each(i, func(at int64, _ float64) { newest = max(newest, at) }); err != nil {
			return 0, err
		}
		switch {
		case newest <= last:
		case i == 0:
			last = newest
		default:
			last = newest + w.archives[i].step
		}
	}
	return last, nil
}

// file returns the file without rows and with empty open rows.
func (w *whisper) file(last int64) *rrdfile.File {
	step, nan := w.archives[0].step, math.NaN()
	f := &rrdfile.File{Version: 3}
	f.Definition.Step = step
	f.Definition.Sources = []rra.DataSource{{Name: "value", Kind: rra.Gauge, Heartbeat: 2 * step, Min: nan, Max: nan}}
	f.State.LastUpdate = rra.Seconds(last)
	f.State.Sources = []rra.SourceSnapshot{{LastReading: "U"}}
	for _, a := range w.archives {
		f.Definition.Archives = append(f.Definition.Archives, rra.Archive{
			CF: whisperCFs[w.way], XFF: w.xff, PDPs: a.step / step, Rows: a.points, Partner: -1,
		})
		f.State.Archives = append(f.State.Archives, rra.ArchiveSnapshot{CDPs: []rra.CDP{{Value: nan, Primary: nan, Secondary: nan}}})
	}
	return f
}

// rows fills the rows of an archive. The newest one ends at second newest. A sum becomes a mean,
// which times the steps of the row is the sum.
func (w *whisper) rows(archive int, newest int64, rows []float64) error {
	a := &w.archives[archive]
	for i := range rows {
		rows[i] = math.NaN()
	}
	later, parts := int64(0), 1.0
	if archive > 0 {
		later = a.step
		if w.way == whisperSum {
			parts = float64(a.step / w.archives[0].step)
		}
	}
	return w.each(archive, func(at int64, v float64) {
		if back := (newest - at - later) / a.step; at+later <= newest && back < a.points {
			rows[a.points-1-back] = v / parts
		}
	})
}

// gatherOpen puts into the open row of each archive what has gone into it: the rows that the next
// finer archive has for its time, and the open row of that one.
func gatherOpen(f *rrdfile.File) {
	for i := 1; i < len(f.Definition.Archives); i++ {
		a, open := &f.Definition.Archives[i], &f.State.Archives[i].CDPs[0]
		rows, finer := f.State.Archives[i-1].Rows, f.State.Archives[i-1].CDPs[0]
		n, pdps := (f.Newest(i-1)-f.Newest(i))/f.Step(i-1), f.Definition.Archives[i-1].PDPs
		missing := max(n-int64(len(rows)), 0)
		open.Unknown = missing*pdps + finer.Unknown
		for _, v := range rows[int64(len(rows))-n+missing:] {
			if v != v {
				open.Unknown += pdps
				continue
			}
			if a.CF == rra.Average {
				v *= float64(pdps)
			}
			open.Value = gathered(a.CF, open.Value, v)
		}
		open.Value = gathered(a.CF, open.Value, finer.Value)
	}
}

// gathered returns the value of an open row after another one, which may be unknown.
func gathered(cf rra.CF, value, v float64) float64 {
	switch {
	case v != v:
		return value
	case value != value || cf == rra.Last:
		return v
	case cf == rra.Min:
		return min(value, v)
	case cf == rra.Max:
		return max(value, v)
	}
	return value + v
}
