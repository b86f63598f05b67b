package rra

import (
	"fmt"
	"math"
	"strings"

	"github.com/rondo-db/rondo/rra/rpn"
)

// A Run is count equal rows of one data source in one stream of rows.
// Row k of a stream with n primary data points a row and step s ends at the time k*n*s.
type Run struct {
	Stream int32 // index into Machine.Streams
	DS     int32
	First  int64 // k of the first row
	Count  int64 // rows
	Value  float64
}

// A Stream is rows that one or more archives share: all archives with one
// primary data point a row hold the same rows, whatever their CF.
// SEASONAL and DEVSEASONAL archives have no stream: their rows are part of the state.
type Stream struct {
	PDPs     int64 // primary data points a row
	Rows     int64 // the longest of its archives
	Archives []int
}

// The layout of a state, in words; it depends on the shape alone.
//
//	0                      last update, in microseconds
//	1 + 3i                 data source i: bits of the last reading,
//	                       value of the open PDP, unknown seconds<<8 | tag
//	per archive            see archive.off
//
// It is part of the format of the store: docs/format-state.md has all of it.
const (
	wordLast    = 0
	wordSources = 1
	dsWords     = 3 // words a data source
	dsBits      = 0
	dsValue     = 1
	dsMeta      = 2

	cdpWords     = 4 // words an AVERAGE, MIN, MAX or LAST with several PDPs a row, a data source
	cdpValue     = 0
	cdpPrimary   = 1
	cdpSecondary = 2
	cdpMeta      = 3 // unknown PDPs in the low half, current row in the high half (data source 0)

	oneWords     = 2 // words all archives of one PDP a row have together, a data source
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
	off    int // first word; data source d stands at off + d*stride
	stride int
	cur    int  // word of the current row
	shift  uint // and where it begins in it
	ring   int  // SEASONAL, DEVSEASONAL: first word of the rows; else 0
	stream int32
	hw     holtWinters
}

// A Machine is a compiled Definition: it steps states of one shape.
// It holds nothing that changes, so that any number of goroutines may use it.
type Machine struct {
	def      *Definition
	shape    string
	step     int64
	words    int
	inputs   int // sources that take a value
	sources  []source
	archives []archive
	streams  []Stream
	one      int   // words of the archives with one PDP a row; 0: there is none
	oneRows  int64 // the longest of those that share a stream
	oneID    int32 // their stream
	own      []own // the others
	family   bool  // has archives of the Holt-Winters family
	seasonal bool

	straight   bool // the straight path may be taken
	noStraight bool // of tests: it must not
	stepMagic  uint64
	ones       []one
	lanes      []lane
	gathers    [Last + 1][]int32 // words in which the lanes of a CF gather
}

// Compile checks d and lays out the state of its series. The Machine keeps d.
// The error is a *FieldError.
func Compile(d *Definition) (*Machine, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	m := &Machine{def: d, step: d.Step}
	names := make([]string, len(d.Sources))
	for i := range names {
		names[i] = d.Sources[i].Name
	}
	for i := range d.Sources {
		s, err := m.compileSource(i, names)
		if err != nil {
			return nil, err
		}
		m.sources = append(m.sources, s)
		if !s.compute {
			m.inputs++
		}
	}
	m.layout()
	if bytes := 8 * int64(m.words); bytes > MaxStateBytes {
		return nil, stateError(bytes)
	}
	for i := range m.archives {
		m.compileHoltWinters(i)
	}
	m.shape = d.shape()
	m.prepare()
	return m, nil
}

func (m *Machine) compileSource(i int, names []string) (source, error) {
	ds := &m.def.Sources[i]
	s := source{
		kind: ds.Kind, compute: ds.Kind == Compute, heartbeat: float64(ds.Heartbeat),
		min: ds.Min, max: ds.Max, limited: !math.IsNaN(ds.Min) || !math.IsNaN(ds.Max),
	}
	if s.compute {
		s.limited = false
		var err error
		if s.program, err = m.def.compileProgram(i, names); err != nil {
			return s, err
		}
	}
	return s, nil
}

// layout gives every archive its words and its stream.
func (m *Machine) layout() {
	nds := len(m.sources)
	next := wordSources + dsWords*nds
	take := func(n int) int { next += n; return next - n }
	var halves []int // archives whose current row has no word yet
	for i := range m.def.Archives {
		d := &m.def.Archives[i]
		a := archive{folding: folding{d.CF, d.PDPs, float64(float64(d.PDPs) * d.XFF)}, rows: d.Rows}
		switch {
		case !d.CF.classical():
			m.family = true
			a.stride = hwWords
			a.off = take(hwWords * nds)
			halves = append(halves, i)
			if d.CF == Seasonal || d.CF == DevSeasonal {
				m.seasonal = true
				a.ring = take(nds * int(d.Rows))
			}
		case d.PDPs == 1:
			if m.one == 0 {
				m.one = take(oneWords * nds)
			}
			if !d.Own {
				m.oneRows = max(m.oneRows, d.Rows)
			}
			a.off, a.stride = m.one, oneWords
			halves = append(halves, i)
		default:
			a.stride = cdpWords
			a.off = take(cdpWords * nds)
			a.cur, a.shift = a.off+cdpMeta, 32
		}
		m.archives = append(m.archives, a)
		m.archives[i].stream = m.addStream(i)
	}
	for j, i := range halves {
		if j%2 == 0 {
			take(1)
		}
		m.archives[i].cur, m.archives[i].shift = next-1, uint(j%2)*32
	}
	m.words = next
}

// addStream finds or makes the stream of archive i.
func (m *Machine) addStream(i int) int32 {
	d := &m.def.Archives[i]
	if d.CF == Seasonal || d.CF == DevSeasonal {
		return -1
	}
	shared := d.CF.classical() && d.PDPs == 1 && !d.Own
	if shared {
		for j := range m.archives[:i] {
			if b := &m.archives[j]; b.cf.classical() && b.n == 1 && !m.def.Archives[j].Own {
				s := &m.streams[b.stream]
				s.Archives = append(s.Archives, i)
				s.Rows = max(s.Rows, d.Rows)
				return b.stream
			}
		}
	}
	m.streams = append(m.streams, Stream{PDPs: d.PDPs, Rows: d.Rows, Archives: []int{i}})
	id := int32(len(m.streams) - 1)
	switch {
	case shared:
		m.oneID = id
	case d.CF.classical() && d.PDPs == 1:
		m.own = append(m.own, own{id, d.Rows})
	}
	return id
}

// An own is the stream of an archive with one PDP a row that shares its rows with no other.
type own struct {
	stream int32
	rows   int64
}

// classical reports whether cf is AVERAGE, MIN, MAX or LAST.
func (cf CF) classical() bool { return cf <= Last }

// shape is the text that Machines of one layout have in common.
func (d *Definition) shape() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d/%d", d.Step, len(d.Sources))
	for i := range d.Archives {
		a := &d.Archives[i]
		fmt.Fprintf(&b, "/%d:%d:%d", a.CF, a.PDPs, a.Rows)
		if a.Own {
			b.WriteByte('o')
		}
	}
	return b.String()
}

// Definition returns what m was compiled from. It must not be changed.
func (m *Machine) Definition() *Definition { return m.def }

// Shape names the layout of the state: machines of equal shape have states of
// equal length and layout, and equal streams.
func (m *Machine) Shape() string { return m.shape }

// Words returns the number of 64-bit words in the state of a series.
func (m *Machine) Words() int { return m.words }

// Inputs returns the number of values a reading has: one for each data source
// that is not COMPUTE.
func (m *Machine) Inputs() int { return m.inputs }

// Streams returns the streams of rows that Step hands out. They must not be changed.
func (m *Machine) Streams() []Stream { return m.streams }

// StreamOf returns the stream that holds the rows of an archive; -1 for
// SEASONAL and DEVSEASONAL, whose rows are in the state.
func (m *Machine) StreamOf(archive int) int { return int(m.archives[archive].stream) }

// Seasonal reports whether m has SEASONAL or DEVSEASONAL archives, so that
// [Machine.EndUpdate] matters.
func (m *Machine) Seasonal() bool { return m.seasonal }

// Init makes w, of m.Words words, the state of a new series whose last update
// was at start, cut to a whole second not before 1970.
func (m *Machine) Init(w []uint64, start Time) {
	w = w[:m.words]
	clear(w)
	sec := max(start.Unix(), 0)
	w[wordLast] = uint64(Seconds(sec))
	unknown := sec % m.step
	for d := range m.sources {
		ds := w[wordSources+dsWords*d:]
		ds[dsValue] = nanBits
		ds[dsMeta] = uint64(unknown)<<8 | uint64(TagUnknown)
	}
	for i := range m.archives {
		a := &m.archives[i]
		if !a.cf.classical() {
			a.initHoltWinters(w, len(m.sources))
			continue
		}
		if a.n == 1 {
			continue
		}
		for d := range m.sources {
			c := w[a.off+cdpWords*d:]
			c[cdpValue] = nanBits
			c[cdpMeta] = uint64((sec - unknown) % (m.step * a.n) / m.step)
		}
	}
}

// nanBits is the NaN that a new state is full of.
var nanBits = math.Float64bits(math.NaN())

// LastUpdate returns the time of the last reading folded into w.
func (m *Machine) LastUpdate(w []uint64) Time { return Time(w[wordLast]) }
