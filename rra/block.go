package rra

import (
	"math"
	"slices"
	"strings"
)

// BlockSeries is how many series a Block takes.
const BlockSeries = 64

// A Block is series of one Table that step from one time to another together. It takes the straight
// path for all of them, and works through data sources and archives one after the other instead of
// the series: what depends on an archive alone is done once for all series.
//
// A block is used in three steps: [Block.Begin], some calls of [Block.Take], and [Block.End]. The
// zero Block may begin. A Block keeps its memory from one use to the next.
type Block struct {
	t     Table
	m     *Machine // of the first series
	other *Machine // another one whose rows end in the same way
	at    Time
	mo    moment

	index []int32     // the series that were taken
	pdp   []float64   // by data source, then series: first what a reading adds, then the PDP that ends
	texts []KeptTexts // of the last Take
	rows  []BlockRows // of End
	out   []float64   // their values

	texted [BlockSeries]bool // by series of the last Take: a last reading is or was a text
}

// A KeptTexts is the last readings of a series that are kept as texts.
type KeptTexts struct {
	Index int32
	Texts []string // by data source, for State.Text; nil: no last reading is a text any more
}

// A BlockRows is one row of a data source in a stream, for each series of a block.
type BlockRows struct {
	Stream, DS int32
	K          int64
	Values     []float64 // valid until the next Begin
}

// Begin makes b a block of no series of t that steps to at.
func (b *Block) Begin(t Table, at Time) {
	b.t, b.at = t, at
	b.index = b.index[:0]
}

// Len returns how many series b has taken.
func (b *Block) Len() int { return len(b.index) }

// Index returns the indices of the series that b has taken, in their order. They are valid until
// the next Begin.
func (b *Block) Index() []int32 { return b.index }

// Take folds a reading of each of some series into the block. index says which series of the table;
// all are of m, which has the shape of the table. values has a reading of every data source for
// each index. Values of TagText refer to texts.
//
// Take returns how many series it has taken. It stops at the first one that does not fit the block
// or the straight path, and does not change the state of that one. An empty block takes all that
// can take the straight path, up to BlockSeries. kept returns which last readings are texts, and
// which are no more: it is valid until the next call.
func (b *Block) Take(m *Machine, index []int32, values []Value, texts []string) (taken int, kept []KeptTexts) {
	b.texts = b.texts[:0]
	if !m.straight || len(index) == 0 || len(values) != len(m.sources)*len(index) || !b.fits(m, index[0]) {
		return 0, nil
	}
	index = index[:min(len(index), BlockSeries-len(b.index))]
	index = b.join(index)
	taken = len(index)
	for d := range m.sources {
		taken = min(taken, b.read(m, d, index[:taken], values, texts))
	}
	last := b.t.column(wordLast)
	for _, i := range index[taken:] {
		last[i] = b.mo.last
	}
	index = index[:taken]
	odd := false
	for d := range m.sources {
		odd = b.keep(m, d, index, values) || odd
	}
	if odd {
		b.keepTexts(len(m.sources), index, values, texts)
	}
	b.index = append(b.index, index...)
	return taken, b.texts
}

// fits reports whether series of m may join the block. Into an empty block it lets all that step
// from the time of the given one.
func (b *Block) fits(m *Machine, first int32) bool {
	if len(b.index) > 0 {
		if m != b.m && m != b.other {
			if !slices.Equal(m.lanes, b.m.lanes) {
				return false
			}
			b.other = m
		}
		return true
	}
	last := b.t.column(wordLast)[first]
	if b.mo.at != b.at || b.mo.last != last || b.mo.m != m {
		b.mo.make(m, last, b.at)
	}
	b.m, b.other = m, m
	if size := len(m.sources) * BlockSeries; len(b.pdp) < size {
		b.pdp = make([]float64, size)
	}
	return b.mo.ok
}

// join sets the time of the last update of series that step from the time of the block. It returns
// those before the first one that does not. A series that comes a second time does not.
func (b *Block) join(index []int32) []int32 {
	last := b.t.column(wordLast)
	from, to := b.mo.last, uint64(b.mo.at)
	for j, i := range index {
		if last[i] != from {
			return index[:j]
		}
		last[i] = to
	}
	return index
}

// read computes what the readings of data source d add to the open PDPs. It returns how many of
// them can take the straight path, up to the first that cannot.
func (b *Block) read(m *Machine, d int, index []int32, values []Value, texts []string) int {
	s, iv := &m.sources[d], b.mo.iv
	least, most, n := s.min, s.max, len(m.sources)
	bits, metas := b.t.column(wordSources+dsWords*d+dsBits), b.t.column(wordSources+dsWords*d+dsMeta)
	gauge := s.kind == Gauge && !(s.heartbeat < iv)
	out, at := b.pdp[d*BlockSeries+len(b.index):][:len(index)], d
	for j := range out {
		v := &values[at]
		at += n
		if gauge && v.Tag == TagFloat { // what source.straight does
			x := math.Float64frombits(v.Bits)
			if x > most || x < least {
				x = math.NaN()
			}
			out[j] = float64(x * iv)
			continue
		}
		var number Value
		if v.Tag == TagText {
			var ok bool
			if number, ok = s.number(v, texts); !ok {
				return j
			}
			v = &number
		}
		x, ok := s.straight(bits[index[j]], metas[index[j]], v, iv)
		if !ok {
			return j
		}
		out[j] = x
	}
	return len(out)
}

// number returns the number that the text of a reading stands for. ok is false if it needs the
// general path.
func (s *source) number(v *Value, texts []string) (number Value, ok bool) {
	if v.Bits >= uint64(len(texts)) || s.kind != Gauge && s.kind != Absolute {
		return Value{}, false
	}
	text := texts[v.Bits]
	if text == "" || text[0] == 'U' {
		return Value{}, false
	}
	f, err := ParseNumber(text)
	return Float(f), err == nil
}

// keep makes the readings of data source d the last ones, and adds them to the open PDPs, as
// Machine.gather, closePDP and keep do. It reports whether a text is or was among the last
// readings. It calls nothing for a series, so that the compiler keeps more in registers.
func (b *Block) keep(m *Machine, d int, index []int32, values []Value) (odd bool) {
	at, n, step := wordSources+dsWords*d, len(m.sources), m.step
	bits, vals, metas := b.t.column(at+dsBits), b.t.column(at+dsValue), b.t.column(at+dsMeta)
	bits, vals = bits[:len(metas)], vals[:len(metas)]
	pdps := b.pdp[d*BlockSeries+len(b.index):][:len(index)]
	iv, pre, post, open := b.mo.iv, b.mo.pre, b.mo.post, b.mo.sec < b.mo.end
	for j, i := range index {
		v := &values[d]
		d += n
		x, meta, val := pdps[j], metas[i], math.Float64frombits(vals[i])
		bits[i] = v.Bits
		if v.Tag == TagText || Tag(meta) == TagText {
			odd, b.texted[j] = true, true
			if v.Tag == TagText {
				bits[i] = 0
			}
		}
		if open {
			if meta = meta&^0xff | uint64(v.Tag); x != x {
				meta = moreUnknownSec(meta, uint64(iv)) // cut to whole seconds, as rrdtool does
			} else if val == val {
				vals[i] = math.Float64bits(x + val)
			} else {
				vals[i] = math.Float64bits(x)
			}
			metas[i] = meta
			continue
		}
		unknown, pdp := int64(meta>>8), math.NaN()
		known := float64(step - unknown)
		if x != x {
			known -= pre
			vals[i], metas[i] = nanBits, uint64(post)<<8|uint64(v.Tag)
		} else {
			if val != val {
				val = 0
			}
			rate := x / iv
			val += float64(rate * pre)
			vals[i], metas[i] = math.Float64bits(float64(rate*post)), uint64(v.Tag)
		}
		if unknown <= step/2 {
			pdp = val / known
		}
		pdps[j] = pdp
	}
	return odd
}

// keepTexts fills b.texts for n data sources.
func (b *Block) keepTexts(n int, index []int32, values []Value, texts []string) {
	for j, i := range index {
		if !b.texted[j] {
			continue
		}
		b.texted[j] = false
		kept := KeptTexts{Index: i}
		for d, v := range values[j*n : (j+1)*n] {
			if v.Tag != TagText {
				continue
			}
			if kept.Texts == nil {
				kept.Texts = make([]string, n)
			}
			kept.Texts[d] = strings.Clone(cutReading(texts[v.Bits]))
		}
		b.texts = append(b.texts, kept)
	}
}
