package hosts

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/search"
)

// pin finds the series of each host that fits the words of a pin best, and reads its newest value.
func (b *Board) pin(ctx context.Context, rows []*Row, r *Request) error {
	words := strings.Fields(strings.ToLower(r.Pin))
	if len(words) == 0 {
		return nil
	}
	var found []*known
	for _, x := range rows {
		k := x.known
		if k.pin != r.Pin {
			k.pin, k.pinned, k.pinRef = r.Pin, nil, 0
			best := 0
			err := b.Index.Members(ctx, x.Name, r.Within, func(m search.Member) bool {
				if fit := fits(m.Path, words); fit > best {
					best, k.pinRef = fit, m.Ref
				}
				return true
			})
			if err != nil && !errors.Is(err, search.ErrHost) {
				return err
			}
		}
		if k.pinRef != 0 {
			found = append(found, k)
		}
	}
	values, refs := make([]*source, len(found)), make([]core.Ref, len(found))
	for i, k := range found {
		values[i], refs[i] = &source{beat: beat{ref: k.pinRef}, sign: new(sign), value: math.NaN()}, k.pinRef
	}
	err := b.Store.Resolve(ctx, refs, func(i int, x core.Series) bool {
		if x.Definition != nil {
			values[i].define(x.Definition)
		}
		return true
	})
	if err != nil && !errors.Is(err, core.ErrDamaged) {
		return err
	}
	defined := slices.DeleteFunc(slices.Clone(values), func(s *source) bool { return s.span == 0 })
	if err := b.read(ctx, defined, r.Now); err != nil {
		return err
	}
	of := make(map[*known]float64)
	for i, k := range found {
		of[k] = values[i].value
	}
	for _, x := range rows {
		if v, ok := of[x.known]; ok {
			x.Figures[Pin] = v
		}
	}
	return nil
}

// fits returns how well the path of a series fits words; 0: it lacks one.
// Whole names fit better than parts, and short paths better than long ones.
func fits(path string, words []string) int {
	path = strings.ToLower(path)
	fit := 1 << 20
	for _, w := range words {
		if !strings.Contains(path, w) {
			return 0
		}
		if slices.Contains(strings.FieldsFunc(path, func(c rune) bool { return strings.ContainsRune(`/{},="`, c) }), w) {
			fit += 1 << 16
		}
	}
	return fit - min(len(path), 1<<12)
}

// spark finds what a row shows as a line: what is pinned, or what says most.
func (b *Board) spark(ctx context.Context, x *Row, r *Request) (err error) {
	k := x.known
	if r.Pin != "" && k.pinRef != 0 {
		if k.pinned == nil {
			s, err := b.Index.SparkOf(ctx, k.pinRef)
			if err != nil && !errors.Is(err, core.ErrNotFound) && !errors.Is(err, core.ErrDamaged) {
				return err
			}
			k.pinned = &s
		}
		x.Spark = *k.pinned
		return nil
	}
	if k.spark == nil {
		s, err := b.Index.HostSpark(ctx, x.Name, r.Within)
		if err != nil {
			return err
		}
		k.spark = &s
	}
	x.Spark = *k.spark
	return nil
}
