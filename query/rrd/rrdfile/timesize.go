package rrdfile

import "bytes"

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
