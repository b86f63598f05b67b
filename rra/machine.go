package rra

import "github.com/rondo-db/rondo/rra/rpn"

// A Run is one or more equal, consecutive rows of one data source in one stream of rows. Row k of a
// stream with n PDPs in each row ends at the second k*n*step.
type Run struct {
	Stream int32 // index into Machine.Streams
	DS     int32 // index of the data source
	First  int64 // k of the first row
	Count  int64 // number of rows
	Value  float64
}

// A Stream is a sequence of rows that one or more archives share. All archives with one PDP in each
// row hold the same rows, whatever their CF. SEASONAL and DEVSEASONAL archives have no stream:
// their rows are part of the state.
type Stream struct {
	PDPs     int64 // PDPs in each row
	Rows     int64 // rows of the longest of the archives
	Archives []int // indices into Definition.Archives
}

// The layout of a state, in words. It depends on the shape alone.
//
//	0                      time of the last update, in microseconds
//	1 + 3i                 data source i: bits of the last reading,
//	                       value of the open PDP, unknown seconds<<8 | tag
//	for each archive       see archive.off
//
// The layout is part of the format of the store. docs/format-state.md describes all of it.
const (
	wordLast    = 0
	wordSources = 1
	dsWords     = 3 // words of each data source
	dsBits      = 0
	dsValue     = 1
	dsMeta      = 2

	// For each data source of an AVERAGE, MIN, MAX or LAST archive with several PDPs in a row:
	cdpWords     = 4
	cdpValue     = 0
	cdpPrimary   = 1
	cdpSecondary = 2
	cdpMeta      = 3 // unknown PDPs in the low half, current row in the high half (data source 0)

	// For each data source, once for all archives with one PDP in a row:
	oneWords     = 2
	onePrimary   = 0
	oneSecondary = 1
)

// A source is a compiled DataSource.
type source struct {
	kind      Kind
	compute   bool
	heartbeat float64
	min, max  float64
	limited   bool // min or max is set
	program   *rpn.Program
}

// An archive is a compiled Archive.
type archive struct {
	folding
	rows   int64
	off    int // first word; the words of data source d begin at off + d*stride
	stride int
	cur    int         // index of the word that holds the number of the current row
	shift  uint        // lowest bit of the number in that word
	ring   int         // SEASONAL, DEVSEASONAL: first word of the rows; otherwise 0
	stream int32       // index into Machine.streams; -1: none
	hw     holtWinters // of the Holt-Winters family
}

// A Machine is a compiled Definition. It steps states of one shape. It never changes, so any number
// of goroutines may use it.
type Machine struct {
	def      *Definition
	shape    string
	step     int64
	words    int
	inputs   int // sources that take a value
	sources  []source
	archives []archive
	streams  []Stream
	one      int   // first word of the archives with one PDP in a row; 0: there are none
	oneRows  int64 // rows of the longest of them that share a stream
	oneID    int32 // index of that stream
	own      []own // those that share no stream
	family   bool  // m has archives of the Holt-Winters family
	seasonal bool  // m has SEASONAL or DEVSEASONAL archives

	// For the straight path, see straight.go.
	straight  bool // it may be taken
	stepMagic uint64
	lanes     []lane
}

// An own is the stream of an archive with one PDP in a row that shares its rows with no other.
type own struct {
	stream int32
	rows   int64
}

// classical reports whether cf is AVERAGE, MIN, MAX or LAST.
func (cf CF) classical() bool { return cf <= Last }

// Definition returns what m was compiled from. It must not be changed.
func (m *Machine) Definition() *Definition { return m.def }

// Shape names the layout of the state. Machines of equal shape have states of equal length and
// layout, and equal streams.
func (m *Machine) Shape() string { return m.shape }

// Words returns the number of 64-bit words in the state of a series.
func (m *Machine) Words() int { return m.words }

// Inputs returns the number of values in a reading: one for each data source that is not COMPUTE.
func (m *Machine) Inputs() int { return m.inputs }

// Streams returns the streams of rows that Step returns. They must not be changed.
func (m *Machine) Streams() []Stream { return m.streams }

// StreamOf returns the index of the stream that holds the rows of an archive; -1 for SEASONAL and
// DEVSEASONAL, whose rows are in the state.
func (m *Machine) StreamOf(archive int) int { return int(m.archives[archive].stream) }

// Seasonal reports whether m has SEASONAL or DEVSEASONAL archives. Only then [Machine.EndUpdate]
// has an effect.
func (m *Machine) Seasonal() bool { return m.seasonal }

// A folding says how PDPs become a row.
type folding struct {
	cf     CF
	n      int64   // PDPs in a row
	maxNaN float64 // n*xff: so many PDPs of a known row may be unknown
}

// The current row of an AVERAGE, MIN, MAX or LAST archive is counted from the row that ended last,
// by its number modulo the rows. So a row that ends does not change it. In the Holt-Winters family,
// which looks for rows by it, it is the current row itself.

// advance notes that rows have ended. As in rrdtool, the current row goes round once at most.
func (a *archive) advance(w []uint64, rows int64) {
	by := min(rows, a.rows)
	if a.cf.classical() {
		by -= rows
	}
	if by != 0 {
		a.setRow(w, a.row(w)+by)
	}
}

// row returns the number of the current row that the state has.
func (a *archive) row(w []uint64) int64 { return int64(w[a.cur] >> a.shift & 0xffffffff) }

// setRow sets the number that row returns, modulo the rows.
func (a *archive) setRow(w []uint64, n int64) {
	if n %= a.rows; n < 0 {
		n += a.rows
	}
	w[a.cur] = w[a.cur]&^(0xffffffff<<a.shift) | uint64(n)<<a.shift
}

// countedFrom returns from where the current row of an archive is counted.
func (m *Machine) countedFrom(w []uint64, a *archive) int64 {
	if !a.cf.classical() {
		return 0
	}
	return m.LastUpdate(w).Unix() / (m.step * a.n)
}

// moreUnknownPDPs adds to the unknown PDPs in the low half of an archive's meta word, up to
// maxUnknownPDPs.
func moreUnknownPDPs(meta, n uint64) uint64 {
	return meta&^0xffffffff | min(meta&0xffffffff+n, maxUnknownPDPs)
}

// moreUnknownSec adds seconds to the unknown seconds of a data source's meta word, up to
// maxUnknownSec.
func moreUnknownSec(meta, seconds uint64) uint64 {
	return min(meta>>8+seconds, maxUnknownSec)<<8 | meta&0xff
}

// ds returns the words of data source i.
func (m *Machine) ds(w []uint64, i int) []uint64 {
	o := wordSources + dsWords*i
	return w[o : o+dsWords : o+dsWords]
}

// maxUnknownSec and maxUnknownPDPs are the largest counts of unknown seconds of an open PDP and of
// unknown PDPs of an open row. Step stops counting there, so a valid state stays valid.
//
// rrdtool counts on, but its rows are the same: both bounds are above the count that makes any PDP
// (half its seconds) or any row (all its PDPs) unknown. The number of PDPs in a row would be too
// small a bound, because rrdtool counts beyond it after a change of the step. A larger bound for
// the seconds would be wrong too: rrdtool compares the low 32 bits of its count, as a signed
// number.
const (
	maxUnknownSec  = 1<<31 - 1
	maxUnknownPDPs = 1 << 31
)

// The words of each data source of an archive of the Holt-Winters family. They have the order of
// rrdtool's ten scratch values, so that tests can compare all of them.
const (
	hwWords = 10

	hwValue         = 0 // DEVPREDICT: always NaN
	hwHistory       = 0 // FAILURES: four words, one byte for each PDP
	hwIntercept     = 2 // HWPREDICT, MHWPREDICT
	hwLastIntercept = 3
	hwSlope         = 4
	hwLastSlope     = 5
	hwNulls         = 6
	hwLastNulls     = 7
	hwSeasonal      = 2 // SEASONAL, DEVSEASONAL
	hwLastSeasonal  = 3
	hwBurnIn        = 6
	hwPending       = 7 // of data source 0: see smooth.go
	hwPrimary       = 8
	hwSecondary     = 9
)

// maxWindow is the longest history of a FAILURES archive, in PDPs.
const maxWindow = 28

// A holtWinters is what an archive of the family knows about its partners.
type holtWinters struct {
	multiply bool    // the model is MHWPREDICT
	alpha    float64 // of the model, as is beta
	beta     float64
	gamma    float64  // of the archive itself, as is window
	window   float64  // smoothing window, as a part of the season
	model    int      // index of the HWPREDICT or MHWPREDICT archive
	season   int      // index of the model's SEASONAL archive
	dev      int      // index of the DEVSEASONAL archive
	def      *Archive // the archive itself
}

// cdp returns the words of data source d of an archive of the family.
func (a *archive) cdp(w []uint64, d int) []uint64 {
	o := a.off + hwWords*d
	return w[o : o+hwWords : o+hwWords]
}

// cell returns the word of row i of data source d in the ring. i may be past the end of the ring.
func (a *archive) cell(w []uint64, nds int, i int64, d int) *uint64 {
	return &w[a.ring+int(i%a.rows)*nds+d]
}

// historyByte returns byte j of the history of a FAILURES archive. c is the words of a data source.
func historyByte(c []uint64, j int) byte { return byte(c[hwHistory+j/8] >> (8 * (j % 8))) }

// setHistoryByte sets byte j of the history of a FAILURES archive.
func setHistoryByte(c []uint64, j int, b byte) {
	p := &c[hwHistory+j/8]
	*p = *p&^(0xff<<(8*(j%8))) | uint64(b)<<(8*(j%8))
}

// A lane is what the straight path needs of an archive with several PDPs in a row.
type lane struct {
	folding
	magic  uint64 // reciprocal(n): i below 2^32 is a multiple of n if i*magic < magic
	off    int
	stream int32
}
