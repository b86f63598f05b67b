// Package held keeps samples that the reorder window holds back until they may be applied.
//
// A [Samples] holds the samples of one series, in order of time. [Append] and [Read] code a whole
// group's; the code is part of the format. Which samples leave the window, and when, is not decided
// here.
package held

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// A Sample is one sample of a series.
type Sample struct {
	At     rra.Time
	Values []rra.Value
	Texts  []string // the texts of Values, numbered from 0
}

// NewSample copies a sample. Texts of values are numbers in texts.
func NewSample(at rra.Time, values []rra.Value, texts []string) Sample {
	x := Sample{At: at, Values: slices.Clone(values)}
	for j := range x.Values {
		if v := &x.Values[j]; v.Tag == rra.TagText || v.Tag == rra.TagInvalid {
			x.Texts = append(x.Texts, texts[v.Bits])
			v.Bits = uint64(len(x.Texts) - 1)
		}
	}
	return x
}

// Size is about what x takes of the memory, in bytes.
func (x *Sample) Size() int64 {
	n := 80 + 16*len(x.Values)
	for _, t := range x.Texts {
		n += 16 + len(t)
	}
	return int64(n)
}

// A Samples holds the samples of one series. Each has a time of its own.
type Samples struct {
	List []Sample // in order of time
}

// Find returns where a sample of the time at stands in the list or belongs, and whether it is
// there.
func (h *Samples) Find(at rra.Time) (i int, found bool) {
	return slices.BinarySearchFunc(h.List, at, func(a Sample, t rra.Time) int {
		return int(min(max(a.At-t, -1), 1))
	})
}

// Newest returns the time of the last sample. There must be one.
func (h *Samples) Newest() rra.Time { return h.List[len(h.List)-1].At }

// Size is about what all samples take of the memory, in bytes.
func (h *Samples) Size() (n int64) {
	for i := range h.List {
		n += h.List[i].Size()
	}
	return n
}

// Valid reports whether samples that Read has returned can be applied to a series of so many data
// sources: their order, times and values may be anything.
func (h *Samples) Valid(sources int) bool {
	for i := range h.List {
		x := &h.List[i]
		if i > 0 && x.At <= h.List[i-1].At || x.At > record.MaxTime || x.At < -record.MaxTime || len(x.Values) > sources {
			return false
		}
		for _, v := range x.Values {
			if v.Tag > rra.TagInvalid || v.Tag >= rra.TagText && v.Bits >= uint64(len(x.Texts)) {
				return false
			}
		}
	}
	return len(h.List) > 0
}

// Append codes the samples of a group, by index of the series: how many series have any; for each
// its index and how many samples it has; of each sample the time, the values and the texts.
func Append(dst []byte, group map[int]*Samples) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(group)))
	for _, i := range slices.Sorted(maps.Keys(group)) {
		dst = binary.AppendUvarint(dst, uint64(i))
		dst = binary.AppendUvarint(dst, uint64(len(group[i].List)))
		for _, x := range group[i].List {
			dst = record.AppendTime(dst, x.At, 0)
			dst = binary.AppendUvarint(dst, uint64(len(x.Values)))
			for _, v := range x.Values {
				dst = append(dst, byte(v.Tag))
				dst = binary.LittleEndian.AppendUint64(dst, v.Bits)
			}
			dst = record.AppendTexts(dst, x.Texts)
		}
	}
	return dst
}

// Read is the inverse of [Append], for a group of n series. It returns nil if no series has
// samples.
func Read(r *record.Reader, n int) map[int]*Samples {
	count := r.Uvarint()
	if count > uint64(len(r.Rest)) {
		r.Fail()
	}
	if count == 0 || r.Err != nil {
		return nil
	}
	out := make(map[int]*Samples)
	for range count {
		i, m := r.Uvarint(), r.Uvarint()
		if i >= uint64(n) || m > uint64(len(r.Rest)) {
			r.Fail()
			return nil
		}
		h := &Samples{}
		for range m {
			x := Sample{At: r.Time(0)}
			k := r.Uvarint()
			for j := uint64(0); j < k && r.Err == nil; j++ {
				x.Values = append(x.Values, rra.Value{Tag: rra.Tag(r.Byte()), Bits: r.Uint64()})
			}
			x.Texts = r.Texts()
			h.List = append(h.List, x)
		}
		out[int(i)] = h
	}
	return out
}
