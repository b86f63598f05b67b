package core

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/rondo-db/rondo/rra"
)

// An outcome counts what became of the samples of one batch.
type outcome struct {
	accepted, late, other int
	// late samples that a command passes over: its caller is not told
	skipped int
	first   []Rejection // the first refused samples
	keep    int         // how many of them to keep
}

// keptRejections is how many refused samples an error names unless the batch asks for more.
const keptRejections = 16

// reject counts the sample at an index of the batch as refused with err.
func (o *outcome) reject(index int, err error) {
	if _, late := errors.AsType[*rra.TimeError](err); late {
		o.late++
	} else {
		o.other++
	}
	if len(o.first) < o.keep {
		o.first = append(o.first, Rejection{index, err})
	}
}

// merge adds the outcome of another shard's part of the batch.
func (o *outcome) merge(p *outcome) {
	o.accepted += p.accepted
	o.late += p.late
	o.other += p.other
	o.skipped += p.skipped
	o.keep = p.keep
	o.first = append(o.first, p.first...)
}

// error returns nil if every sample was accepted or skipped, or a *RejectedError.
func (o *outcome) error() error {
	if o.late+o.other == 0 {
		return nil
	}
	slices.SortFunc(o.first, func(a, b Rejection) int { return a.Index - b.Index })
	return &RejectedError{Accepted: o.accepted, Late: o.late, Other: o.other, First: slices.Clone(o.first[:min(len(o.first), o.keep)])}
}

// A shardStats counts the samples of one shard since the store was opened.
type shardStats struct {
	accepted, late, other atomic.Uint64
}

func (st *shardStats) add(o *outcome) {
	st.accepted.Add(uint64(o.accepted))
	st.late.Add(uint64(o.late + o.skipped))
	st.other.Add(uint64(o.other))
}
