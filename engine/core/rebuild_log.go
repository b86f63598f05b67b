package core

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// readLog finds out how far the log reaches back, and which members it has all of.
func (b *rebuild) readLog() {
	s := b.s
	first := s.log.get().First()
	b.reach = logReach{first: first, from: first, window: b.window, upto: s.catalogue.pos}
	if first == 1 {
		b.reach.window = 0 // that of a new store
	}
	for _, lg := range b.groups {
		b.reach.upto = max(b.reach.upto, lg.until)
		for i, rec := range lg.members {
			if lg.hurt != nil && lg.hurt.unfit[i] {
				continue
			}
			if first != 0 && rec.born.pos >= first && rec.born.pos <= lg.until {
				b.born[rec.born.pos] = append(b.born[rec.born.pos], bornSeries{lg, i, rec})
			}
		}
	}
	made := make(map[bornSeries]bool)
	err := b.logged(func(p wal.Pos, rec []byte) error {
		if len(rec) == 0 {
			return recordError("empty", uint64(p))
		}
		if rec[0] == record.KindSettings && first != 1 {
			r := record.Reader{Rest: rec[1:]}
			if b.reach.from == first { // the window before it is not known
				b.reach.from, b.reach.window = p+1, r.Time(0)
			}
		}
		if len(b.born[p]) == 0 {
			return nil
		}
		starts, err := b.starts(p, rec)
		for x := range starts {
			made[x] = true
		}
		return err
	})
	if err != nil {
		b.r.lose("the log cannot be read from its beginning: %v; nothing is made anew from it", err)
		b.reach.first, b.reach.from = 0, math.MaxUint64
	}
	for pos, list := range b.born {
		b.born[pos] = slices.DeleteFunc(list, func(x bornSeries) bool { return pos < b.reach.from || !made[x] || err != nil })
		for _, x := range b.born[pos] {
			x.lg.whole[x.index] = true
		}
	}
}

// logged calls fn with each record that is looked at.
func (b *rebuild) logged(fn func(p wal.Pos, rec []byte) error) error {
	if b.reach.first == 0 {
		return nil
	}
	next := b.reach.first
	end := errors.New("end")
	err := b.s.log.get().Replay(next, func(p wal.Pos, rec []byte) error {
		switch {
		case p > b.reach.upto:
			return end
		case p != next:
			return fmt.Errorf("%w: record %d is missing", wal.ErrHole, next)
		}
		next++
		return fn(p, rec)
	})
	if err == end {
		return nil
	}
	if err == nil && next <= b.reach.upto {
		err = fmt.Errorf("%w: it ends at %d", wal.ErrHole, next-1)
	}
	return err
}

// starts returns the series that are wanted and that the record at p made, each with what begins it
// in its group.
func (b *rebuild) starts(p wal.Pos, rec []byte) (map[bornSeries]func(), error) {
	s := b.s
	out := make(map[bornSeries]func())
	r := record.Reader{Rest: bytes.Clone(rec[1:])}
	switch rec[0] {
	case record.KindCreate:
		plan, err := s.catalogue.replayCreate(&r)
		if err != nil {
			return nil, err
		}
		for _, x := range b.born[p] {
			if int(x.rec.born.nth) >= len(plan) {
				continue
			}
			it, d := &plan[x.rec.born.nth], s.catalogue.definition(x.rec.def)
			if s.catalogue.byDef[it.def] == d {
				out[x] = func() {
					x.lg.g.start(x.index, d, it.Start, nil)
					d.m.SmoothBy(x.lg.g.state(x.index).W, it.smoothBy())
				}
			}
		}
	case record.KindImport:
		im, err := s.replayImport(&r)
		if err != nil {
			return nil, err
		}
		for _, x := range b.born[p] {
			if d := s.catalogue.definition(x.rec.def); s.catalogue.byDef[im.def] == d {
				out[x] = func() { x.lg.g.adopt(x.index, d, im) }
			}
		}
	}
	return out, nil
}

// replay applies the log up to the catalogue's position to the groups.
func (b *rebuild) replay() error {
	s := b.s
	sh := &shard{reorder: b.reach.window}
	return b.logged(func(p wal.Pos, rec []byte) error {
		if rec[0] == record.KindSettings && p >= b.reach.from {
			r := record.Reader{Rest: rec[1:]}
			sh.reorder = r.Time(0)
		}
		if len(b.born[p]) > 0 {
			starts, err := b.starts(p, rec)
			for x, start := range starts {
				start()
				x.lg.g.changed(p)
			}
			return err
		}
		if rec[0] != record.KindSamples {
			return nil
		}
		r := record.Reader{Rest: rec[1:]}
		var at rra.Time
		for len(r.Rest) > 0 && r.Err == nil {
			h := readRun(&r, at)
			at = h.at
			lg := b.groups[groupID{h.class, h.group}]
			if lg == nil || r.Err != nil || p > lg.until {
				continue
			}
			sh.id = lg.g.shard
			if err := sh.applyBody(s.appender.shards[lg.g.shard], lg.g, p, h); err != nil {
				return err
			}
		}
		return r.Err
	})
}
