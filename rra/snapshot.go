package rra

import (
	"fmt"
	"math"
)

// A Snapshot is the content of a state, field by field as a file of rrdtool has it.
// [Machine.Snapshot] makes one from a state, and [Machine.Import] a state from one.
type Snapshot struct {
	LastUpdate Time
	Sources    []SourceSnapshot
	Archives   []ArchiveSnapshot
}

// A SourceSnapshot is what a state holds of a data source.
type SourceSnapshot struct {
	LastReading string  // as it was written, at most [LastReading] bytes; "U": there is none
	Value       float64 // of the open PDP: rate times seconds
	UnknownSec  int64   // unknown seconds of the open PDP
}

// An ArchiveSnapshot is what a state holds of an archive.
type ArchiveSnapshot struct {
	CurRow int64 // the row of the ring that was written last
	CDPs   []CDP // one for each data source

	// SmoothRow is the row of the ring at which a SEASONAL or DEVSEASONAL archive is smoothed. If
	// the ring has no such row, it never is. 0 for other archives.
	SmoothRow int64

	// Rows are the rows of a SEASONAL or DEVSEASONAL archive, oldest first. Each row has one value
	// for each data source. Other archives have their rows elsewhere: Snapshot leaves Rows nil, and
	// Import ignores it.
	Rows []float64
}

// Snapshot returns the content of s. It shares no memory with s.
func (m *Machine) Snapshot(s *State) *Snapshot {
	x := &Snapshot{
		LastUpdate: m.LastUpdate(s.W),
		Sources:    make([]SourceSnapshot, len(m.sources)),
		Archives:   make([]ArchiveSnapshot, len(m.archives)),
	}
	for i := range x.Sources {
		ds := &x.Sources[i]
		ds.LastReading = m.LastReading(s, i)
		ds.Value, ds.UnknownSec = m.PDP(s, i)
	}
	for i := range x.Archives {
		a := &x.Archives[i]
		a.CurRow, a.SmoothRow = m.CurRow(s, i), m.SmoothRow(s, i)
		a.CDPs = make([]CDP, len(m.sources))
		for d := range a.CDPs {
			a.CDPs[d] = m.CDP(s, i, d)
		}
		if b := &m.archives[i]; b.ring != 0 {
			a.Rows = make([]float64, 0, int(b.rows)*len(m.sources))
			for k := range b.rows {
				for d := range m.sources {
					a.Rows = append(a.Rows, math.Float64frombits(*b.cell(s.W, len(m.sources), a.CurRow+1+k, d)))
				}
			}
		}
	}
	return x
}

// Import returns the state with the content x. It continues as rrdtool continues a file with this
// content. The error is a *FieldError.
//
// Import takes those fields of a CDP that the archive's CF uses. All archives of AVERAGE, MIN, MAX
// and LAST with one PDP in a row share one Primary and Secondary, and take them from the first such
// archive. They have no Value and no unknown PDPs.
func (m *Machine) Import(x *Snapshot) (State, error) {
	switch {
	case x.LastUpdate < 0:
		return State{}, &FieldError{"last_update", "is before 1970"}
	case len(x.Sources) != len(m.sources):
		return State{}, &FieldError{"ds", fmt.Sprintf("%d data sources, not %d", len(x.Sources), len(m.sources))}
	case len(x.Archives) != len(m.archives):
		return State{}, &FieldError{"rra", fmt.Sprintf("%d archives, not %d", len(x.Archives), len(m.archives))}
	}
	s := m.NewState(x.LastUpdate)
	s.W[wordLast] = uint64(x.LastUpdate)
	for i := range x.Sources {
		if err := m.importSource(&s, i, &x.Sources[i]); err != nil {
			return State{}, err
		}
	}
	for i := range x.Archives {
		if err := m.importArchive(s.W, i, &x.Archives[i]); err != nil {
			return State{}, err
		}
	}
	return s, nil
}

func (m *Machine) importSource(s *State, i int, x *SourceSnapshot) error {
	if x.UnknownSec < 0 || x.UnknownSec > maxUnknownSec {
		return &FieldError{fmt.Sprintf("ds[%d].unknown_sec", i), fmt.Sprintf("%d is not in 0..%d", x.UnknownSec, int64(maxUnknownSec))}
	}
	ds := m.ds(s.W, i)
	ds[dsValue] = math.Float64bits(x.Value)
	ds[dsMeta] = uint64(x.UnknownSec) << 8
	var texts []string
	// A text that does not parse is kept, as Step keeps it.
	v, _ := ParseValue(m.sources[i].kind, x.LastReading, &texts)
	m.keep(s, i, v, texts)
	return nil
}

func (m *Machine) importArchive(w []uint64, i int, x *ArchiveSnapshot) error {
	a := &m.archives[i]
	field := func(name, format string, args ...any) error {
		return &FieldError{fmt.Sprintf("rra[%d].%s", i, name), fmt.Sprintf(format, args...)}
	}
	if x.CurRow < 0 || x.CurRow >= a.rows {
		return field("cur_row", "%d is not in 0..%d", x.CurRow, a.rows-1)
	}
	if len(x.CDPs) != len(m.sources) {
		return field("cdp_prep", "%d data sources, not %d", len(x.CDPs), len(m.sources))
	}
	a.setRow(w, x.CurRow-m.countedFrom(w, a))
	first := m.firstOne() == i
	for d := range x.CDPs {
		c := &x.CDPs[d]
		switch {
		case !a.cf.classical():
			a.importHoltWinters(a.cdp(w, d), c)
		case a.n > 1:
			if c.Unknown < 0 || c.Unknown > maxUnknownPDPs {
				return field(fmt.Sprintf("cdp_prep[%d].unknown_datapoints", d), "%d is not in 0..%d", c.Unknown, int64(maxUnknownPDPs))
			}
			p := w[a.off+cdpWords*d:]
			p[cdpValue] = math.Float64bits(c.Value)
			p[cdpPrimary], p[cdpSecondary] = math.Float64bits(c.Primary), math.Float64bits(c.Secondary)
			p[cdpMeta] = p[cdpMeta]&^0xffffffff | uint64(c.Unknown)
		case first:
			p := w[a.off+oneWords*d:]
			p[onePrimary], p[oneSecondary] = math.Float64bits(c.Primary), math.Float64bits(c.Secondary)
		}
	}
	if a.ring == 0 {
		return nil
	}
	a.smoothAt(w, x.SmoothRow)
	nds := len(m.sources)
	if len(x.Rows) != int(a.rows)*nds {
		return field("rows", "%d values, not %d", len(x.Rows), int(a.rows)*nds)
	}
	for k, v := range x.Rows {
		*a.cell(w, nds, x.CurRow+1+int64(k/nds), k%nds) = math.Float64bits(v)
	}
	return nil
}

// firstOne returns the first AVERAGE, MIN, MAX or LAST archive with one PDP in a row; -1: there is
// none.
func (m *Machine) firstOne() int {
	for i := range m.archives {
		if a := &m.archives[i]; a.cf.classical() && a.n == 1 {
			return i
		}
	}
	return -1
}

// importHoltWinters is the inverse of holtWintersCDP.
func (a *archive) importHoltWinters(c []uint64, x *CDP) {
	c[hwPrimary], c[hwSecondary] = math.Float64bits(x.Primary), math.Float64bits(x.Secondary)
	switch a.cf {
	case HWPredict, MHWPredict:
		c[hwIntercept], c[hwLastIntercept] = math.Float64bits(x.Intercept), math.Float64bits(x.LastIntercept)
		c[hwSlope], c[hwLastSlope] = math.Float64bits(x.Slope), math.Float64bits(x.LastSlope)
		c[hwNulls], c[hwLastNulls] = uint64(x.NullCount), uint64(x.LastNullCount)
	case Seasonal, DevSeasonal:
		c[hwSeasonal], c[hwLastSeasonal] = math.Float64bits(x.Seasonal), math.Float64bits(x.LastSeasonal)
		c[hwBurnIn] = uint64(x.InitFlag)
	case DevPredict:
		c[hwValue] = math.Float64bits(x.Value)
	case Failures:
		for j := range min(len(x.History), a.hw.def.Window) {
			setHistoryByte(c, j, x.History[j]-'0')
		}
	}
}
