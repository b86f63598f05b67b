package core

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// A state record that is damaged or missing is made anew while the store is opened for a repair,
// before the log is replayed as always. The catalogue knows where in the log each series was made.
// There are two kinds of series in the group:
//
//   - The log still has all of it, from the record that made it on. Its state and all its rows come
//     from the log. What row blocks hold of it is dropped, so that no row is there twice.
//   - The log has only the last part of it, or nothing. Its rows stay as far as row blocks hold
//     them. Its state begins anew at the newest time that is known of it: that of a row, or of a
//     sample in the log. Its first reading says from when on values are known again (flagLost); a
//     row of which a part is lost is unknown. No value of the log can be read: each is coded
//     against the one before.
//
// Until the log is replayed, series of the second kind are not in their group, so that no sample is
// applied to them. At the end the group stands for the whole log.

// A rebuild is that work for all groups of a store.
type rebuild struct {
	r      *repairing
	s      *Store
	groups map[groupID]*lostGroup
	born   map[wal.Pos][]bornSeries // series that the log has all of, by the record that made them
	reach  logReach
	window rra.Time // the reorder window at the catalogue's position
	fixes  []fix
	size   int // bytes of fixes
	unread []unreadRows
	remade []remadeRows

	peeked   *group // that learn has looked at last; may be nil
	peekedAt groupID
}

// A lostGroup is a group whose state is made anew.
type lostGroup struct {
	g       *group
	members map[int]*seriesRecord // by index, as the database's catalogue has them
	whole   map[int]bool          // the log has all of them
	newest  map[int]rra.Time      // of stored rows
	slots   []map[int64]*slotSubs // by stream
	lags    *rowblock.Directory
	until   wal.Pos    // the log is applied up to here
	hurt    *hurtGroup // not nil: the state is sound, g is a stand-in that only gathers rows
}

// slotSubs is which sub-blocks of a slot there are.
type slotSubs struct {
	found []uint16 // in the database
	kept  []uint16 // those that hold rows still needed
}

// A bornSeries is a series that is to begin when replay comes to the record that made it.
type bornSeries struct {
	lg    *lostGroup
	index int
	rec   *seriesRecord
}

// logReach is how much of the past the log tells.
type logReach struct {
	first  wal.Pos  // the first record that can be read; 0: none
	from   wal.Pos  // from here on it is known which reorder window was in force
	window rra.Time // in force at from
	upto   wal.Pos  // it is looked at up to here
}

// init connects an empty rebuild to its store. window is the reorder window at the catalogue's
// position.
func (b *rebuild) init(s *Store, window rra.Time) {
	b.s, b.window = s, window
	b.groups, b.born = make(map[groupID]*lostGroup), make(map[wal.Pos][]bornSeries)
}

// begin finds the groups without a state, and puts what can be known of them into memory.
func (b *rebuild) begin(s *Store) error {
	b.init(s, s.appender.shards[0].reorder)
	if err := s.db.View(nil, b.find); err != nil {
		return err
	}
	if err := b.apply(); err != nil || len(b.groups) == 0 {
		return err
	}
	b.readLog()
	if err := b.sift(); err != nil {
		return err
	}
	for _, lg := range b.groups {
		b.load(lg)
	}
	return b.replay()
}

// find fills groups and members.
func (b *rebuild) find(tx *boltfile.Tx) error {
	s := b.s
	whole := make(map[groupID]bool)
	cur := tx.Bucket(bucketState).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		var c *class
		if len(k) == 8 {
			c = s.catalogue.class(binary.BigEndian.Uint32(k))
		}
		if c == nil {
			b.r.lose("state %s: no series can be its", keyHex(k))
			b.put(bucketState, k, nil)
			continue
		}
		id := groupID{c.id, binary.BigEndian.Uint32(k[4:])}
		g := &group{c: c, id: id.group}
		err := g.decodeState(v)
		g.unload()
		switch {
		case err == nil:
			whole[id] = true
		case int(id.group) < len(*c.groups.Load()):
			b.lost(id)
		default: // the catalogue's last changes made it: replay will make it from nothing
			b.put(bucketState, k, nil)
		}
	}
	for _, c := range *s.catalogue.classes.Load() {
		for _, g := range *c.groups.Load() {
			if id := (groupID{c.id, g.id}); !whole[id] {
				b.lost(id)
			}
		}
	}
	cur = tx.Bucket(bucketSeries).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		if len(k) != 8 {
			continue
		}
		ref := Ref(binary.BigEndian.Uint64(k))
		c := s.catalogue.class(ref.class())
		if c == nil || c.group(ref.number()) == nil {
			continue
		}
		id := c.groupOf(ref.number())
		if whole[id] {
			continue
		}
		rec, err := s.catalogue.storedRecord(k, v)
		if err != nil || s.catalogue.definition(rec.def).class != c {
			continue
		}
		b.lost(id).members[c.index(ref.number())] = rec
	}
	return nil
}

// compare orders groups.
func (a groupID) compare(b groupID) int {
	return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.group, b.group))
}

// lost is the entry of a group.
func (b *rebuild) lost(id groupID) *lostGroup {
	lg := b.groups[id]
	if lg == nil {
		c := b.s.catalogue.class(id.class)
		lg = &lostGroup{
			g: b.s.catalogue.makeGroup(c, id.group), members: make(map[int]*seriesRecord), whole: make(map[int]bool), newest: make(map[int]rra.Time),
			slots: make([]map[int64]*slotSubs, len(c.streams)), lags: new(rowblock.Directory).Clone(len(c.streams)), until: b.s.catalogue.pos,
		}
		for i := range lg.slots {
			lg.slots[i] = make(map[int64]*slotSubs)
		}
		b.groups[id] = lg
	}
	return lg
}

// load makes the group's arrays, with no series in them.
func (b *rebuild) load(lg *lostGroup) {
	s, g := b.s, lg.g
	g.mu.Lock()
	defer g.mu.Unlock()
	first := g.id << g.c.shift
	n := int(min(g.c.next.Load()-first, 1<<g.c.shift))
	g.resize(n)
	g.n = n
	if lg.hurt != nil {
		return
	}
	g.loaded, g.stored, g.dirty = true, true, true
	g.dir = lg.directory()
	g.lost = make(map[int]*lostSeries)
	for i, rec := range lg.members {
		if !lg.whole[i] {
			g.lost[i] = &lostSeries{s.catalogue.definition(rec.def), lg.newest[i]}
		}
	}
	s.space.loaded.Add(1)
}

// finish goes on once the log is replayed: then it is known which series there are.
func (b *rebuild) finish(ctx context.Context) error {
	b.unpeek()
	h := &rebuild{r: b.r}
	h.init(b.s, b.window)
	if err := h.mendRows(ctx); err != nil {
		return err
	}
	for _, x := range h.remade {
		h.tellRemade(x)
	}
	for _, of := range []*rebuild{b, h} {
		for _, u := range of.unread {
			of.tell(u)
		}
	}
	b.restartAll()
	return nil
}

// restartAll begins the series that the log has not all of.
func (b *rebuild) restartAll() {
	s := b.s
	for _, id := range slices.SortedFunc(maps.Keys(b.groups), groupID.compare) {
		lg := b.groups[id]
		g := lg.g
		g.mu.Lock()
		for i, l := range g.lost {
			lg.newest[i] = l.newest
		}
		g.lost = nil
		for _, i := range slices.Sorted(maps.Keys(lg.members)) {
			rec := b.now(lg, i)
			switch {
			case rec == nil: // dropped
			case lg.whole[i]:
				b.r.done("series %q: its state and its rows are made anew from the log, which has all of it", rec.path)
			default:
				b.restart(lg, i, rec)
			}
		}
		for i := range g.n { // no value of the log is coded against these any more
			if !g.alive(i) || g.flags[i]&flagLost != 0 {
				clear(g.ctx[i*g.c.sources : (i+1)*g.c.sources])
				clear(g.ctxTag[i*g.c.sources : (i+1)*g.c.sources])
			}
		}
		g.pos = max(g.pos, s.log.get().Last())
		g.dirty = true
		g.mu.Unlock()
	}
}

// restart begins a series whose state is lost at the newest time that is known of it.
func (b *rebuild) restart(lg *lostGroup, i int, rec *seriesRecord) {
	at := lg.newest[i]
	d := b.s.catalogue.definition(rec.def)
	lg.g.start(i, d, at, nil)
	d.m.SmoothBy(lg.g.state(i).W, rra.NameHash(rec.path))
	lg.g.flags[i] |= flagLost
	why := fmt.Sprintf("the log begins at record %d, after the one that made it", b.reach.first)
	if b.reach.first == 0 {
		why = "the log has nothing of it"
	}
	if at <= 0 {
		b.r.lose("series %q: its state and all its rows are lost (%s): it is empty, and begins anew with its second reading", rec.path, why)
		return
	}
	b.r.lose("series %q: its state is lost (%s): rows that were stored up to %s are there, later ones are unknown until its second reading",
		rec.path, why, damage.TimeText(at.Unix()))
}
