package rrdfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// A File is the content of a native file or of a dump.
type File struct {
	Version    int // 1 to 5
	Definition rra.Definition

	// State is the state of the series, with all rows of the archives.
	State rra.Snapshot

	// unclear are the indices of COMPUTE data sources whose expression cannot be written as text,
	// because a data source that it refers to has the name of an operator.
	unclear []int
}

// New returns the file of a series, from a state of m and the rows of each archive. Rows are oldest
// first, with the values of all data sources side by side. Rows of SEASONAL and DEVSEASONAL
// archives are ignored, because the state contains them.
func New(m *rra.Machine, s *rra.State, rows [][]float64) (*File, error) {
	d := m.Definition()
	f := &File{
		Version:    VersionOf(d),
		Definition: rra.Definition{Step: d.Step, Sources: slices.Clone(d.Sources), Archives: slices.Clone(d.Archives)},
		State:      *m.Snapshot(s),
	}
	if len(rows) != len(d.Archives) {
		return nil, &FieldError{"rra", fmt.Sprintf("rows of %d archives, there are %d", len(rows), len(d.Archives))}
	}
	for i := range d.Archives {
		a := &d.Archives[i]
		f.Definition.Archives[i].Own = false
		if isSeasonal(a.CF) && f.Version >= 4 {
			f.Definition.Archives[i].SmoothingWindow = Smoothing(a) // from version 4 on it is written
		}
		if m.StreamOf(i) < 0 {
			continue
		}
		if want := int(a.Rows) * len(d.Sources); len(rows[i]) != want {
			return nil, &FieldError{fmt.Sprintf("rra[%d].rows", i), fmt.Sprintf("%d values, there are %d", len(rows[i]), want)}
		}
		f.State.Archives[i].Rows = rows[i]
	}
	return f, nil
}

// VersionOf returns the version of the native file that rrdtool makes for d: 3, 4 or 5.
func VersionOf(d *rra.Definition) int {
	for i := range d.Sources {
		if k := d.Sources[i].Kind; k == rra.DCounter || k == rra.DDerive {
			return 5
		}
	}
	for i := range d.Archives {
		a := &d.Archives[i]
		if a.CF == rra.MHWPredict || isSeasonal(a.CF) && !math.IsNaN(a.SmoothingWindow) {
			return 4
		}
	}
	return 3
}

func isSeasonal(cf rra.CF) bool { return cf == rra.Seasonal || cf == rra.DevSeasonal }

// Step returns the seconds of a row of an archive.
func (f *File) Step(archive int) int64 {
	return f.Definition.Step * f.Definition.Archives[archive].PDPs
}

// Newest returns the second at which the newest row of an archive ends.
func (f *File) Newest(archive int) int64 {
	return newest(f.State.LastUpdate.Unix(), f.Step(archive))
}

// newest rounds last down to a multiple of step. Like rrdtool it calculates without a sign, which
// matters for times before 1970.
func newest(last, step int64) int64 {
	if step == 0 {
		return last
	}
	return last - int64(uint64(last)%uint64(step))
}

// Machine compiles the definition. Archives with one PDP a row share their rows in a series. One
// that holds other rows than the longest of them gets rows of its own ([rra.Archive.Own]). The
// error is an [*rra.FieldError].
func (f *File) Machine() (*rra.Machine, error) {
	if len(f.unclear) > 0 {
		return nil, &rra.FieldError{Field: fmt.Sprintf("ds[%d].expr", f.unclear[0]), Err: unclear}
	}
	d := &rra.Definition{
		Step: f.Definition.Step, Sources: slices.Clone(f.Definition.Sources), Archives: slices.Clone(f.Definition.Archives),
	}
	longest := -1
	for i := range d.Archives {
		a := &d.Archives[i]
		a.Own = false
		if a.CF <= rra.Last && a.PDPs == 1 && (longest < 0 || a.Rows > d.Archives[longest].Rows) {
			longest = i
		}
	}
	for i := range d.Archives {
		a := &d.Archives[i]
		if i != longest && a.CF <= rra.Last && a.PDPs == 1 {
			a.Own = !endsWith(f.State.Archives[longest].Rows, f.State.Archives[i].Rows)
		}
	}
	return rra.Compile(d)
}

func endsWith(rows, tail []float64) bool {
	if len(tail) > len(rows) {
		return false
	}
	rows = rows[len(rows)-len(tail):]
	for i, v := range tail {
		if w := rows[i]; math.Float64bits(v) != math.Float64bits(w) && (v == v || w == w) {
			return false
		}
	}
	return true
}

// StateOf returns the state of the series for m, the result of [File.Machine]. The error is an
// [*rra.FieldError].
func (f *File) StateOf(m *rra.Machine) (rra.State, error) { return m.Import(&f.State) }

const unclear = "the expression refers to a data source by a name that means something else"

// Smoothing returns the smoothing window of an archive, or rrdtool's default if it has none.
func Smoothing(a *rra.Archive) float64 {
	if math.IsNaN(a.SmoothingWindow) {
		return 0.05
	}
	return a.SmoothingWindow
}

// ErrNotRRD says that a file is not a native file of rrdtool.
var ErrNotRRD = errors.New("is not an RRD file")

// A VersionError says that a native file has an unknown version. Its text is rrdtool's.
type VersionError struct {
	Version string
}

func (e *VersionError) Error() string { return "can't handle RRD file version " + e.Version }

// A FormatError says where a native file holds an impossible value.
type FormatError struct {
	Offset int64  // in bytes
	Field  string // "ds[0].type", "rra[1].cur_row"; `rrdtool info` uses the same names
	Err    string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("offset %d: %s: %s", e.Offset, e.Field, e.Err)
}

// An XMLError says where a dump cannot be read.
type XMLError struct {
	Line int    // from 1
	Err  string // rrdtool's text, if rrdtool reports the mistake

	prefix string
}

func (e *XMLError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Err) }

// Original returns the text that `rrdtool restore` prints. Some of its texts begin with "line" and
// the number of the line, and some, by a slip of rrdtool, with "ling".
func (e *XMLError) Original() string {
	if e.prefix == "" {
		return e.Err
	}
	return fmt.Sprintf("%s %d: %s", e.prefix, e.Line, e.Err)
}

// A FieldError says which field of a [File] has a value that a native file cannot hold.
type FieldError struct {
	Field string // named as in a FormatError
	Err   string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err }

// ForeignBytes is how many bytes from the beginning of a file [Foreign] looks at.
const ForeignBytes = 512

// foreign are the beginnings of files that are found under names of rrdtool's files, and what they
// are.
var foreign = []struct{ begin, what string }{
	{"\x00J\x00R\x00o\x00b\x00i\x00n", "JRobin's: export it as XML"},
	{"JRobin", "JRobin's: export it as XML"},
	{"\x00R\x00R\x00D\x004\x00J", "rrd4j's: export it as XML"},
	{"RRD4J", "rrd4j's: export it as XML"},
	{"\x1f\x8b", "compressed with gzip: unpack it"},
	{"BZh", "compressed with bzip2: unpack it"},
	{"\xfd7zXZ\x00", "compressed with xz: unpack it"},
	{"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it"},
	{"PK\x03\x04", "a zip archive: unpack it"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it"},
	{"SQLite format 3\x00", "a database of SQLite"},
	{"whisper_compressed", "go-carbon's, compressed: turn it into one of Whisper"},
	{"\x85\xbd\x40\xdd", "a chunk file of Prometheus"},
	{"\xba\xaa\xd7\x00", "an index of Prometheus"},
	{"\x89PNG\r\n\x1a\n", "a picture, PNG"},
	{"\xff\xd8\xff", "a picture, JPEG"},
	{"GIF8", "a picture, GIF"},
	{"%PDF-", "a document, PDF"},
	{"\x7fELF", "a program or library, ELF"},
}

// Foreign says what a file is that is neither a native file nor XML, from its first ForeignBytes
// bytes, or all bytes of a shorter file. It returns "" if the file may be XML.
func Foreign(head []byte) string {
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.begin)) {
			return f.what
		}
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case len(head) == 0:
		return "empty"
	case len(bytes.Trim(head, "\x00")) == 0:
		return "nothing but zeros at its beginning"
	case bytes.HasPrefix(head, []byte(magic)):
		return ""
	case IsWhisper(head):
		return "a file of Whisper: rondo import makes a series of it"
	case len(head) > 20 && (string(head[16:20]) == "\xed\xda\x0c\xed" || string(head[16:20]) == "\xed\x0c\xda\xed"):
		return "a database of bbolt, as rondo's own is"
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return "a tar archive: unpack it"
	case len(text) == 0 || text[0] == '<' || isUTF16(head):
		return ""
	case isText(head):
		return "text, but no XML"
	}
	return fmt.Sprintf("an unknown file that begins with the bytes % x", head[:min(len(head), 8)])
}

// isUTF16 reports whether a file is XML in UTF-16.
func isUTF16(head []byte) bool {
	for _, begin := range []string{"\xff\xfe", "\xfe\xff", "<\x00", "\x00<"} {
		if bytes.HasPrefix(head, []byte(begin)) {
			return true
		}
	}
	return false
}

// isText reports whether a file holds no control characters. Its encoding may be any.
func isText(head []byte) bool {
	return !bytes.ContainsFunc(head, func(c rune) bool {
		return c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f
	})
}

// IsWhisper reports whether a file begins like one of Graphite's Whisper: a way of aggregation, the
// longest retention, a fraction, a number of archives, and the first archive right behind them.
func IsWhisper(head []byte) bool {
	if len(head) < 28 {
		return false
	}
	word := func(at int) uint32 { return binary.BigEndian.Uint32(head[at:]) }
	kind, fraction, archives := word(0), math.Float32frombits(word(8)), word(12)
	return kind >= 1 && kind <= 8 && fraction >= 0 && fraction <= 1 && archives >= 1 && archives < 1<<10 && word(16) == 16+12*archives && word(20) > 0
}
