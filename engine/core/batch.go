package core

import (
	"iter"
	"math"
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// A Ref addresses a series of one store, by its class and its number in the class. It stays valid
// until the series is dropped, altered or overwritten. The zero Ref addresses no series.
type Ref uint64

// A Batch is samples of many series, appended in one call. Samples of one series are applied in the
// order in which they were added. After Reset a Batch keeps its memory: a loop of Add, Append,
// Reset allocates nothing.
type Batch struct {
	// SkipPast lets Update pass over samples that are not after the last update instead of stopping
	// at them.
	SkipPast bool
	// Stopped says that the caller found an error behind these samples in the command that Update
	// applies. As in rrdtool, no season is smoothed at the end of such a command.
	Stopped bool
	// Rejections is how many refused samples a *RejectedError names; 0: the first 16.
	Rejections int

	samples []sample
	values  []rra.Value
	texts   []string
}

type sample struct {
	ref   Ref
	at    rra.Time
	first uint32 // index of the first value
	n     uint16 // values
	more  bool   // belongs to the same update command as the sample before
}

// Add adds one sample: a reading of every data source of ref but the COMPUTE sources, at the time
// at. Add copies the values.
func (b *Batch) Add(ref Ref, at rra.Time, values ...rra.Value) {
	n := len(b.samples)
	if n == cap(b.samples) {
		b.samples = slices.Grow(b.samples, 64)
	}
	b.samples = b.samples[:n+1]
	s := &b.samples[n] // field by field: a copy would wait for the stores before it
	s.ref, s.at, s.more = ref, at, false
	s.first, s.n = uint32(len(b.values)), uint16(len(values))
	if len(values) == 1 && len(b.values) < cap(b.values) {
		k := len(b.values)
		b.values = b.values[:k+1]
		b.values[k].Bits, b.values[k].Tag = values[0].Bits, values[0].Tag
		return
	}
	b.values = append(b.values, values...)
}

// AddText is Add for values that include texts: rra.Text(i) stands for texts[i].
func (b *Batch) AddText(ref Ref, at rra.Time, values []rra.Value, texts []string) {
	base := len(b.texts)
	b.texts = append(b.texts, texts...)
	first := len(b.values)
	b.Add(ref, at, values...)
	for i := first; i < len(b.values); i++ {
		if v := &b.values[i]; v.Tag == rra.TagText || v.Tag == rra.TagInvalid {
			v.Bits += uint64(base)
		}
	}
}

// Follow puts the sample that was added last into one update command with the sample before it, if
// both are of the same series. When a sample of a command is refused, the samples behind it in the
// command are not applied.
func (b *Batch) Follow() {
	if n := len(b.samples); n > 1 && b.samples[n-1].ref == b.samples[n-2].ref {
		b.samples[n-1].more = true
	}
}

// All yields the samples of b in the order in which they were added. The values belong to b and are
// valid until the next Add or Reset.
func (b *Batch) All() iter.Seq[BatchSample] {
	return func(yield func(BatchSample) bool) {
		for i := range b.samples {
			s := &b.samples[i]
			if !yield(BatchSample{s.ref, s.at, b.values[s.first:][:s.n], b.texts, s.more}) {
				return
			}
		}
	}
}

// A BatchSample is one sample of a Batch.
type BatchSample struct {
	Ref    Ref
	At     rra.Time
	Values []rra.Value
	Texts  []string // rra.Text(i) among Values stands for Texts[i]
	// Follows says that the sample is in one update command with the sample before it: see
	// Batch.Follow.
	Follows bool
}

// Split adds the samples of b to other batches, in order. For sample i, which is of the series ref,
// to returns the batch and the reference that the series has there. A nil batch leaves the sample
// out. The batches get SkipPast, Stopped and Rejections of b. What Follow has put together stays
// together. Once the batches have grown, Split allocates nothing.
func (b *Batch) Split(to func(i int, ref Ref) (*Batch, Ref)) {
	var last *Batch
	for i := range b.samples {
		s := &b.samples[i]
		part, ref := to(i, s.ref)
		if part == nil {
			continue
		}
		if part != last {
			part.SkipPast, part.Stopped, part.Rejections = b.SkipPast, b.Stopped, b.Rejections
			last = part
		}
		from := len(part.values)
		part.Add(ref, s.at, b.values[s.first:][:s.n]...)
		if len(b.texts) > 0 {
			part.moveTexts(from, b.texts)
		}
		if s.more {
			part.Follow()
		}
	}
}

// moveTexts copies the texts that the values from an index on stand for, and that are in texts.
func (b *Batch) moveTexts(from int, texts []string) {
	for i := from; i < len(b.values); i++ {
		if v := &b.values[i]; v.Tag == rra.TagText || v.Tag == rra.TagInvalid {
			if v.Bits >= uint64(len(texts)) {
				v.Bits = math.MaxUint64 // it stays a text that is not there, and the sample is refused
				continue
			}
			b.texts = append(b.texts, texts[v.Bits])
			v.Bits = uint64(len(b.texts) - 1)
		}
	}
}

// keep returns how many refused samples of b, which may be nil, an error names.
func (b *Batch) keep() int {
	if b != nil && b.Rejections > 0 {
		return b.Rejections
	}
	return keptRejections
}

// Len returns the number of samples in b.
func (b *Batch) Len() int { return len(b.samples) }

// Ref returns the series of sample i, counted from 0. It panics if i is not below Len.
func (b *Batch) Ref(i int) Ref { return b.samples[i].ref }

// Redirect makes sample i one of another series. It panics if i is not below Len.
func (b *Batch) Redirect(i int, ref Ref) { b.samples[i].ref = ref }

// Follows reports whether sample i is in one update command with the sample before it. It panics if
// i is not below Len.
func (b *Batch) Follows(i int) bool { return b.samples[i].more }

// Reset empties b and keeps its memory.
func (b *Batch) Reset() {
	b.samples, b.values, b.texts = b.samples[:0], b.values[:0], b.texts[:0]
}
