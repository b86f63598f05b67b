package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"weak"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/defcode"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// lacksClass reports whether p would make one class more than there may be. It is asked in log
// order, so that replay refuses the same series. The caller holds mu.
func (cat *catalogue) lacksClass(p *planned) bool {
	return len(*cat.classes.Load()) >= cat.options.maxClasses && cat.byShape[p.m.Shape()] == nil
}

// intern returns the definition of p, making it and its class if they are new. The caller holds mu.
func (cat *catalogue) intern(p *planned, o *catOp) *definition {
	if d := cat.byDef[p.def]; d != nil {
		return d
	}
	c := cat.byShape[p.m.Shape()]
	if c == nil {
		c = newClass(uint32(len(*cat.classes.Load())+1), p.m, cat.space, &cat.defs)
		cat.addClass(c)
	}
	d := newDefinition(uint32(len(*cat.defs.Load())+1), p.m, c)
	cat.addDefinition(d, p.def)
	o.def = d
	return d
}

func (cat *catalogue) addClass(c *class) {
	cs := append((*cat.classes.Load())[:len(*cat.classes.Load()):len(*cat.classes.Load())], c)
	cat.classes.Store(&cs)
	cat.byShape[c.shape] = c
}

// addDefinition adds the next definition, with its code.
func (cat *catalogue) addDefinition(d *definition, code string) {
	old := *cat.defs.Load()
	ds := append(old, d) // readers see the length they loaded
	cat.defs.Store(&ds)
	if d != nil { // else Salvage did not find it
		cat.admission.definitions.Add(definitionBytes(d.m, len(code)))
		cat.byDef[code] = d
	}
}

func newDefinition(id uint32, m *rra.Machine, c *class) *definition {
	return &definition{id: id, m: m, class: c, values: m.Inputs()}
}

// definition returns an interned definition by number, or nil.
func (cat *catalogue) definition(id uint32) *definition { return cat.defs.byID(id) }

// class returns a class by number, or nil.
func (cat *catalogue) class(id uint32) *class {
	cs := *cat.classes.Load()
	if id == 0 || int(id) > len(cs) {
		return nil
	}
	return cs[id-1]
}

// compile returns the machine of a definition's code. It returns the interned machine if the
// catalogue knows the definition.
func (cat *catalogue) compile(code string) (*rra.Machine, error) {
	if def := cat.interned(code); def != nil {
		return def.m, nil
	}
	return compileCode([]byte(code))
}

// classOf returns the class of the shape of m. If the catalogue has no such class, it returns a
// class that only has the layout.
func (cat *catalogue) classOf(m *rra.Machine) *class {
	cat.mu.RLock()
	c := cat.byShape[m.Shape()]
	cat.mu.RUnlock()
	if c == nil {
		c = newClass(0, m, nil, nil)
	}
	return c
}

// interned returns the definition of a code, or nil if it is not known.
func (cat *catalogue) interned(code string) *definition {
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	return cat.byDef[code]
}

// newDefinitionBytes returns the memory that the definition of p will take, 0 if it is known
// already. The error is ErrMemory if definitions would take too much.
func (cat *catalogue) newDefinitionBytes(p *planned) (int64, error) {
	if cat.interned(p.def) != nil {
		return 0, nil
	}
	n := definitionBytes(p.m, len(p.def))
	return n, cat.admission.checkDefinition(n)
}

// An admitting admits definitions of new series, equal ones once.
type admitting struct {
	cat   *catalogue
	known map[string]admitted // by code
	last  *rra.Definition     // that admit was called with
	of    admitted            // of last
	code  []byte              // room
}

// An admitted is a compiled definition.
type admitted struct {
	m    *rra.Machine
	code string
	err  error // which limit the definition exceeds, or why it is invalid
}

// admit compiles the definition of a new series.
func (a *admitting) admit(d *rra.Definition) admitted {
	if d == a.last {
		return a.of
	}
	a.code = defcode.Append(a.code[:0], d)
	of, known := a.known[string(a.code)]
	if !known {
		of.code = string(a.code)
		of.m, of.err = a.cat.admitDefinition(d, of.code)
		if a.known == nil {
			a.known = make(map[string]admitted)
		}
		a.known[of.code] = of
	}
	a.last, a.of = d, of
	return of
}

// admitDefinition compiles a definition, whose code is code, if the limits allow it.
func (cat *catalogue) admitDefinition(d *rra.Definition, code string) (*rra.Machine, error) {
	for i := range d.Archives {
		if n := d.Archives[i].Rows; n > cat.options.MaxRows {
			return nil, invalid("rra[%d].rows: %d rows, at most %d are allowed", i, n, cat.options.MaxRows)
		}
	}
	if n := len(code); n > MaxDefinition {
		return nil, invalid("the definition takes %d bytes, at most %d are possible", n, MaxDefinition)
	}
	m, err := cat.compile(code)
	return m, asInvalid(err)
}

// loadDefinitions reads definitions and classes, in order of their numbers.
func (cat *catalogue) loadDefinitions(tx *boltfile.Tx) error {
	var codes []string
	machines := make(map[string]*rra.Machine)
	var compiled []*rra.Machine
	for k, v := range tx.Each(bucketDefs) {
		id := uint32(len(codes) + 1)
		if len(k) != 4 || binary.BigEndian.Uint32(k) != id {
			return damage.InValue(bucketDefs, k, fmt.Errorf("definition %d expected: %w", id, damage.ErrMissing))
		}
		v, err := boltfile.OpenValue(bucketDefs, k, v)
		if err != nil {
			return err
		}
		m, err := compileCode(v)
		switch {
		case err == nil && machines[m.Shape()] == nil:
			machines[m.Shape()] = m
		case err != nil && (cat.options.salvage == nil || errors.Is(err, ErrNewer)):
			return damage.InValue(bucketDefs, k, err)
		}
		codes, compiled = append(codes, string(v)), append(compiled, m)
	}
	if err := cat.loadClasses(tx, machines); err != nil {
		return err
	}
	for i, m := range compiled {
		var d *definition
		if m != nil && cat.byShape[m.Shape()] != nil {
			d = newDefinition(uint32(i+1), m, cat.byShape[m.Shape()])
		} else if cat.options.salvage == nil {
			key := binary.BigEndian.AppendUint32(nil, uint32(len(*cat.classes.Load())+1))
			return damage.InValue(bucketClasses, key, damage.ErrMissing)
		}
		cat.addDefinition(d, codes[i])
	}
	return nil
}

// compileCode returns the machine of a definition's code.
func compileCode(code []byte) (*rra.Machine, error) {
	d, err := inUse.decode(code)
	if err != nil {
		return nil, err
	}
	return rra.Compile(d)
}

// inUse are the definitions in use, of all stores of this process and of those that other machines
// have sent. Equal ones are one: whoever sees several stores compares pointers.
var inUse decoded

type decoded struct {
	mu     sync.Mutex // guards byCode
	byCode map[string]weak.Pointer[rra.Definition]
}

// decode returns the definition of a code.
func (ds *decoded) decode(code []byte) (*rra.Definition, error) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if d := ds.byCode[string(code)].Value(); d != nil {
		return d, nil
	}
	d, err := defcode.Decode(code)
	if err != nil {
		return nil, err
	}
	if ds.byCode == nil {
		ds.byCode = make(map[string]weak.Pointer[rra.Definition])
	}
	ds.byCode[string(code)] = weak.Make(d)
	runtime.AddCleanup(d, ds.forget, string(code))
	return d, nil
}

// forget removes a code whose definition nobody uses any more.
func (ds *decoded) forget(code string) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.byCode[code].Value() == nil {
		delete(ds.byCode, code)
	}
}

// loadClasses reads the classes. machines has the first definition of each shape.
func (cat *catalogue) loadClasses(tx *boltfile.Tx, machines map[string]*rra.Machine) error {
	for k, v := range tx.Each(bucketClasses) {
		id := uint32(len(*cat.classes.Load()) + 1)
		if len(k) != 4 || binary.BigEndian.Uint32(k) != id {
			return damage.InValue(bucketClasses, k, fmt.Errorf("class %d expected: %w", id, damage.ErrMissing))
		}
		v, err := boltfile.OpenValue(bucketClasses, k, v)
		if err != nil {
			return err
		}
		c, err := cat.loadClass(id, v, machines)
		switch {
		case err != nil && cat.options.salvage == nil:
			return damage.InValue(bucketClasses, k, err)
		case err != nil:
			c = cat.options.salvage.lostClass(id)
		}
		cat.addClass(c)
		if n := c.next.Load(); n > 0 {
			cat.makeGroup(c, (n-1)>>c.shift)
		}
		for _, g := range *c.groups.Load() {
			g.stored = true // a checkpoint writes groups before the catalogue
		}
	}
	return nil
}

func (cat *catalogue) loadClass(id uint32, v []byte, machines map[string]*rra.Machine) (*class, error) {
	next, shape, err := readClass(v)
	if err != nil {
		return nil, err
	}
	m := machines[shape]
	if m == nil {
		return nil, fmt.Errorf("no definition has its shape: %w", damage.ErrMissing)
	}
	if cat.byShape[shape] != nil {
		return nil, fmt.Errorf("shape %.100q is that of another class: %w", shape, record.ErrParse)
	}
	c := newClass(id, m, cat.space, &cat.defs)
	c.next.Store(next)
	return c, nil
}

// classVersion is part of the format. It stands for how the layout of a class follows from its
// shape, too.
const classVersion = 2

// append codes a class: the next number and the shape.
func (c *class) append(dst []byte, next uint32) []byte {
	dst = binary.AppendUvarint(append(dst, classVersion), uint64(next))
	return record.AppendText(dst, c.shape)
}

// readClass is the inverse of append.
func readClass(b []byte) (next uint32, shape string, err error) {
	r := record.Reader{Rest: b}
	if v := r.Byte(); v != classVersion {
		return 0, "", fmt.Errorf("version %d: %w", v, record.OtherVersion(uint64(v), classVersion))
	}
	next, shape = uint32(r.Uvarint()), r.Text()
	return next, shape, r.Err
}

// makeGroup returns a group of c. It makes the group, and the groups before it, if they are new.
func (cat *catalogue) makeGroup(c *class, id uint32) *group {
	if gs := *c.groups.Load(); int(id) < len(gs) {
		return gs[id]
	}
	gs := *c.groups.Load()
	for n := uint32(len(gs)); n <= id; n++ {
		gs = append(gs, &group{c: c, id: n, shard: int(c.id*31+n) % cat.shards})
	}
	c.groups.Store(&gs)
	return gs[id]
}

// groupAt returns the group that a log record names.
func (cat *catalogue) groupAt(class, id uint32) (*group, error) {
	if c := cat.class(class); c != nil {
		if gs := *c.groups.Load(); int(id) < len(gs) {
			return gs[id], nil
		}
	}
	return nil, fmt.Errorf("no group %d of class %d: %w", id, class, record.ErrParse)
}

// stopIn adds to t that a series ends in its group.
func (cat *catalogue) stopIn(t *Ticket, ref Ref) {
	c := cat.class(ref.class())
	index := c.index(ref.number())
	t.op.do = append(t.op.do, groupOp{c.group(ref.number()), func(_ *shard, g *group) { g.stop(index) }, 0})
}

// stop ends the series at an index. Its rows disappear when their slots are merged or expire.
func (g *group) stop(index int) {
	if index >= g.n {
		return
	}
	g.flags[index] &^= flagAlive
	delete(g.refused, index)
	g.setText(index, nil)
	g.dropHeld(index)
	g.dirty = true
}
