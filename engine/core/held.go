package core

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// A heldSample is a sample that waits in the reorder window of its series.
type heldSample struct {
	at     rra.Time
	values []rra.Value
	texts  []string // of values: its texts are numbered from 0
}

// A heldSamples holds the waiting samples of one series, in order of time.
type heldSamples struct {
	samples []heldSample
}

// newHeldSample copies a sample. texts are those that values refer to.
func newHeldSample(at rra.Time, values []rra.Value, texts []string) heldSample {
	x := heldSample{at: at, values: slices.Clone(values)}
	for j := range x.values {
		if v := &x.values[j]; v.Tag == rra.TagText || v.Tag == rra.TagInvalid {
			x.texts = append(x.texts, texts[v.Bits])
			v.Bits = uint64(len(x.texts) - 1)
		}
	}
	return x
}

// search returns where a sample of the time at stands or belongs, and whether there is one already.
func (h *heldSamples) search(at rra.Time) (i int, found bool) {
	return slices.BinarySearchFunc(h.samples, at, func(a heldSample, t rra.Time) int {
		return int(min(max(a.at-t, -1), 1))
	})
}

// newest returns the time of the last sample.
func (h *heldSamples) newest() rra.Time { return h.samples[len(h.samples)-1].at }

// size is about what a held sample takes of the memory budget.
func (x *heldSample) size() int64 {
	n := 80 + 16*len(x.values)
	for _, t := range x.texts {
		n += 16 + len(t)
	}
	return int64(n)
}

// size is about what all samples take of the memory budget.
func (h *heldSamples) size() (n int64) {
	for i := range h.samples {
		n += h.samples[i].size()
	}
	return n
}

// valid reports whether samples that were decoded can be applied to a series of c.
func (h *heldSamples) valid(c *class) bool {
	for i := range h.samples {
		x := &h.samples[i]
		if i > 0 && x.at <= h.samples[i-1].at || x.at > MaxTime || x.at < -MaxTime || len(x.values) > c.sources {
			return false
		}
		for _, v := range x.values {
			if v.Tag > rra.TagInvalid || v.Tag >= rra.TagText && v.Bits >= uint64(len(x.texts)) {
				return false
			}
		}
	}
	return len(h.samples) > 0
}

// appendHeld codes the held samples of a group: how many series have any; for each its index and
// how many it has; of each sample the time, the values and the texts. It is part of the format.
func appendHeld(dst []byte, held map[int]*heldSamples) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(held)))
	for _, i := range slices.Sorted(maps.Keys(held)) {
		dst = binary.AppendUvarint(dst, uint64(i))
		dst = binary.AppendUvarint(dst, uint64(len(held[i].samples)))
		for _, x := range held[i].samples {
			dst = record.AppendTime(dst, x.at, 0)
			dst = binary.AppendUvarint(dst, uint64(len(x.values)))
			for _, v := range x.values {
				dst = append(dst, byte(v.Tag))
				dst = binary.LittleEndian.AppendUint64(dst, v.Bits)
			}
			dst = binary.AppendUvarint(dst, uint64(len(x.texts)))
			for _, t := range x.texts {
				dst = record.AppendText(dst, t)
			}
		}
	}
	return dst
}

// held decodes the held samples of a group of n series, the inverse of appendHeld.
func readHeld(r *record.Reader, n int) map[int]*heldSamples {
	count := r.Uvarint()
	if count > uint64(len(r.Rest)) {
		r.Fail()
	}
	if count == 0 || r.Err != nil {
		return nil
	}
	out := make(map[int]*heldSamples)
	for range count {
		i, m := r.Uvarint(), r.Uvarint()
		if i >= uint64(n) || m > uint64(len(r.Rest)) {
			r.Fail()
			return nil
		}
		h := &heldSamples{}
		for range m {
			x := heldSample{at: r.Time(0)}
			k := r.Uvarint()
			for j := uint64(0); j < k && r.Err == nil; j++ {
				x.values = append(x.values, rra.Value{Tag: rra.Tag(r.Byte()), Bits: r.Uint64()})
			}
			x.texts = readTexts(r)
			h.samples = append(h.samples, x)
		}
		out[int(i)] = h
	}
	return out
}
