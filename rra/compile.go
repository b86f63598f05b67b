package rra

import (
	"fmt"
	"math"
	"strings"

	"github.com/rondo-db/rondo/rra/rpn"
)

// Compile checks d and lays out the state of its series. The Machine keeps d.
// The error is a *FieldError.
func Compile(d *Definition) (*Machine, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	m := &Machine{def: d, step: d.Step}
	names := SourceNames(d.Sources)
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

// layout assigns words and a stream to every archive.
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

// addStream finds or makes the stream of archive i, and returns its index.
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

// shape returns Machine.Shape.
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

func (m *Machine) compileHoltWinters(i int) {
	a, d := &m.archives[i], &m.def.Archives[i]
	if d.CF.classical() {
		return
	}
	h := holtWinters{gamma: d.Gamma, window: d.SmoothingWindow, def: d}
	if math.IsNaN(h.window) {
		h.window = defaultSmoothing
	}
	switch d.CF {
	case HWPredict, MHWPredict:
		h.model, h.season = i, d.Partner
	case Seasonal:
		h.model, h.season = d.Partner, i
	case DevSeasonal:
		h.model, h.dev = d.Partner, i
	case DevPredict, Failures:
		h.dev = d.Partner
		h.model = m.def.Archives[h.dev].Partner
	}
	model := &m.def.Archives[h.model]
	if d.CF != Seasonal {
		h.season = model.Partner
	}
	h.multiply = model.CF == MHWPredict
	h.alpha, h.beta = model.Alpha, model.Beta
	a.hw = h
}

// compileProgram compiles the expression of COMPUTE data source i. names are the names of all
// sources: the programs of a machine share them.
func (d *Definition) compileProgram(i int, names []string) (*rpn.Program, error) {
	p, err := rpn.Compile(d.Sources[i].Expr, names[:i:i])
	if err == nil {
		err = p.CheckCompute()
	}
	if err != nil {
		return nil, &FieldError{fmt.Sprintf("ds[%d].expr", i), err.Error()}
	}
	return p, nil
}

// defaultSmoothing is the smoothing window if an archive does not give one.
const defaultSmoothing = 0.05
