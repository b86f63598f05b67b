package core

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"math"

	"github.com/rondo-db/rondo/engine/internal/labelindex"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rows"
)

// The records of the catalogue in the log.

// A planned is a checked Spec or Copy on its way into the catalogue.
type planned struct {
	Spec
	named
	m        *rra.Machine
	def      string  // canonical code of the definition
	verb     string  // of what makes it; empty: create
	copied   *copied // nil: a Spec
	replaces Ref     // the only series that it may replace; 0: Overwrite decides
}

// A named is a name that is looked up. find notes what it is.
type named struct {
	key     string
	at      int   // its place in the result
	old     Ref   // the series that has the name; 0: none
	unknown error // why that is not known
}

// failed returns err as the error of p.
func (p *planned) failed(err error) error {
	return fmt.Errorf("%s %.200q: %w", cmp.Or(p.verb, "create"), p.Path, err)
}

// smoothBy returns the hash that decides when the SEASONAL archives of p smooth.
func (p *planned) smoothBy() uint64 {
	if p.SmoothHash != 0 {
		return p.SmoothHash
	}
	return rra.NameHash(p.Path)
}

func appendCreate(plan []planned) []byte {
	size := 16 + len(plan[0].def)
	for i := range plan {
		size += plan[i].bytes()
	}
	dst := make([]byte, 0, size)
	dst = append(dst, record.KindCreate)
	dst = binary.AppendUvarint(dst, uint64(len(plan)))
	last := ""
	var state []byte // room
	for i := range plan {
		p := &plan[i]
		var flags byte
		if p.Overwrite {
			flags |= 1
		}
		if p.def != last {
			flags |= 2 // a definition follows; else the series has the definition of the one before
		}
		named := p.SmoothHash != 0 && p.m.Seasonal()
		if named {
			flags |= 4
		}
		if p.copied != nil {
			flags |= 8 // a state and rows follow
		}
		if p.replaces != 0 {
			flags |= 16 // a reference follows: only in place of this series
		}
		dst = append(dst, flags)
		dst = record.AppendText(dst, p.Path)
		dst = appendLabels(dst, p.Labels)
		dst = record.AppendTime(dst, p.Start, 0)
		if p.def != last {
			dst = record.AppendText(dst, p.def)
			last = p.def
		}
		if named {
			dst = binary.LittleEndian.AppendUint64(dst, p.SmoothHash)
		}
		if p.copied != nil {
			dst, state = p.copied.append(dst, state[:0])
		}
		if p.replaces != 0 {
			dst = binary.AppendUvarint(dst, uint64(p.replaces))
		}
	}
	return dst
}

// createBytes is more than most series take in a create record, beside path and labels.
const createBytes = 16

// bytes returns about how many bytes p takes in a create record, beside its definition.
func (p *planned) bytes() int {
	size := createBytes + len(p.Path)
	for _, l := range p.Labels {
		size += 2 + len(l.Name) + len(l.Value)
	}
	if x := p.copied; x != nil {
		size += 8*len(x.state.W) + 40*len(x.state.Text) + len(x.rows) + 64
	}
	return size
}

// replayCreate decodes a create record.
func (cat *catalogue) replayCreate(r *record.Reader) ([]planned, error) {
	n := r.Uvarint()
	if n > uint64(len(r.Rest)) {
		r.Fail()
	}
	var plan []planned
	var last planned
	for i := uint64(0); i < n && r.Err == nil; i++ {
		flags := r.Byte()
		if flags > 31 {
			return nil, fmt.Errorf("a record has the flags %#x, which this program does not know: %w", flags, ErrNewer)
		}
		p := planned{named: named{at: int(i)}}
		p.Overwrite = flags&1 != 0
		p.Path = r.Text()
		p.Labels = readLabels(r)
		p.Start = r.Time(0)
		p.m, p.def = last.m, last.def
		if flags&2 != 0 {
			p.def = r.Text()
			var err error
			if p.m, err = cat.compile(p.def); err != nil {
				return nil, err
			}
		}
		if flags&4 != 0 {
			if b := r.Bytes(8); b != nil {
				p.SmoothHash = binary.LittleEndian.Uint64(b)
			}
		}
		if p.m == nil {
			r.Fail()
			break
		}
		p.key = nameKey(p.Path)
		if flags&8 != 0 {
			var err error
			if p.copied, err = readCopied(r, p.m); err != nil {
				return nil, err
			}
		}
		if flags&16 != 0 {
			p.replaces = Ref(r.Uvarint())
		}
		last = p
		plan = append(plan, p)
	}
	return plan, r.Err
}

func appendLabels(dst []byte, labels []Label) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(labels)))
	for _, l := range labels {
		dst = record.AppendText(record.AppendText(dst, l.Name), l.Value)
	}
	return dst
}

func readLabels(r *record.Reader) []Label {
	n := r.Uvarint()
	if n > uint64(len(r.Rest)) {
		r.Fail()
		return nil
	}
	var out []Label
	for i := uint64(0); i < n && r.Err == nil; i++ {
		out = append(out, Label{Name: r.Text(), Value: r.Text()})
	}
	return out
}

// A copied is what a series takes over from a checked Copy.
type copied struct {
	state  rra.State
	rows   []byte // coded, one importStrip behind the other
	strips int    // how many
}

// An importStrip is coded rows of one column, all in one slot: rowblock.MaxMixed rows at most, or
// any number of rows of one value.
type importStrip struct {
	column int   // stream * sources + source
	k      int64 // number of the first row
	rows   int
	data   []byte
}

// check refuses a state that m cannot step.
func (x *copied) check(m *rra.Machine) error {
	if err := m.Check(&x.state); err != nil {
		return err
	}
	if at := m.LastUpdate(x.state.W); at > MaxTime || at < 0 {
		return invalid("last update %d is out of range", at)
	}
	return nil
}

// append codes x for a log record, where its rows are from then on. It uses room for the state.
func (x *copied) append(dst, room []byte) (to, state []byte) {
	state, _ = x.state.AppendBinary(room) // it does not fail
	dst = append(binary.AppendUvarint(dst, uint64(len(state))), state...)
	dst = append(binary.AppendUvarint(dst, uint64(len(x.rows))), x.rows...)
	x.rows = dst[len(dst)-len(x.rows):]
	return dst, state
}

// readCopied decodes what append has coded of a series of m.
func readCopied(r *record.Reader, m *rra.Machine) (*copied, error) {
	x := new(copied)
	state := r.Bytes(r.Uvarint())
	x.rows = r.Bytes(r.Uvarint())
	if r.Err != nil {
		return nil, r.Err
	}
	if err := x.state.UnmarshalBinary(state); err != nil {
		return nil, err
	}
	if err := x.check(m); err != nil {
		return nil, err
	}
	return x, x.checkRows(m)
}

// checkRows refuses rows that a series of m cannot have.
func (x *copied) checkRows(m *rra.Machine) error {
	sources := len(m.Definition().Sources)
	streams := rowblock.Layout(m.Streams(), m.Definition().Step)
	var vals []float64
	for r := (record.Reader{Rest: x.rows}); len(r.Rest) > 0; {
		sg, err := readStrip(&r)
		if err != nil || sg.column >= len(streams)*sources {
			return record.ErrParse
		}
		st := &streams[sg.column/sources]
		if rowblock.FloorDiv(sg.k, st.Slot) != rowblock.FloorDiv(sg.k+int64(sg.rows)-1, st.Slot) {
			return record.ErrParse
		}
		if _, used, ok := rows.RunOf(sg.data, st.PDPs); ok && used == len(sg.data) {
			continue
		}
		if sg.rows > rowblock.MaxMixed || len(sg.data) > rows.MaxBytes(sg.rows) {
			return record.ErrParse
		}
		used := 0
		if vals, used, err = rows.Decode(vals[:0], sg.data, sg.rows, st.PDPs); err != nil || used != len(sg.data) {
			return record.ErrParse
		}
	}
	return nil
}

// readStrip decodes the next strip.
func readStrip(r *record.Reader) (importStrip, error) {
	column, k, n := r.Uvarint(), r.Varint(), r.Uvarint()
	sg := importStrip{int(column), k, int(n), r.Bytes(r.Uvarint())}
	if r.Err != nil || column > math.MaxInt32 || k > int64(MaxTime) || k < -int64(MaxTime) || n < 1 || n > rra.MaxRows {
		return sg, record.ErrParse
	}
	return sg, nil
}

// indexed yields the labels under which the index has a series: see [labelindex.Key]. A label with
// an empty value counts as missing.
func (rec *seriesRecord) indexed() iter.Seq[Label] {
	return func(yield func(Label) bool) {
		if rec.def == 0 || !yield(Label{}) || !yield(labelindex.OfDefinition(rec.def)) {
			return
		}
		for _, l := range rec.labels {
			if l.Value != "" && (!yield(Label{Name: l.Name}) || !yield(l)) {
				return
			}
		}
	}
}
