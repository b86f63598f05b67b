package core

import (
	"slices"
	"strings"
	"sync"
)

// An overlayOrder has the names of a catalogue's overlay in order, for lists. A list brings it up
// to date with the changes since the list before. So changes cost nothing where nobody lists, and
// a page of a list does not look at all names.
type overlayOrder struct {
	mu    sync.Mutex // guards what follows; catalogue.mu is taken while it is held
	epoch uint64     // catalogue.forgotten, when base was made; 0: there is no base
	done  int        // so many of the catalogue's ops are in base and newer
	base  []nameRef  // in order of their keys; never changed in place
	newer []nameRef  // the same; what it says of a name counts, and what base says does not
}

// maxNewer is how many names newer has at least before they are moved to base. More may wait while
// they are less than an eighth of base: then moving all of base is worth it.
const maxNewer = 1 << 10

// update brings x up to date. The caller holds x.mu.
func (x *overlayOrder) update(cat *catalogue) {
	var fresh []nameRef
	cat.mu.RLock()
	anew := x.epoch != cat.forgotten
	if anew {
		fresh = make([]nameRef, 0, len(cat.names))
		for key, ref := range cat.names {
			fresh = append(fresh, nameRef{key, ref})
		}
	} else {
		for i := x.done; i < len(cat.ops); i++ {
			o := &cat.ops[i]
			fresh = append(fresh, nameRef{o.key, cat.names[o.key]})
			if o.rename && o.oldKey != o.key {
				fresh = append(fresh, nameRef{o.oldKey, cat.names[o.oldKey]})
			}
		}
	}
	x.epoch, x.done = cat.forgotten, len(cat.ops)
	cat.mu.RUnlock()
	if !anew && len(fresh) == 0 {
		return
	}
	slices.SortFunc(fresh, func(a, b nameRef) int { return strings.Compare(a.key, b.key) })
	fresh = slices.CompactFunc(fresh, func(a, b nameRef) bool { return a.key == b.key })
	if anew {
		x.base, x.newer = fresh, nil
		return
	}
	x.newer = over(fresh, x.newer)
	if len(x.newer) >= maxNewer && len(x.newer) >= len(x.base)/8 {
		x.base, x.newer = over(x.newer, x.base), nil
	}
}

// over returns the names of two lists in order. Of a name of both, newer counts.
func over(newer, older []nameRef) []nameRef {
	out := make([]nameRef, 0, len(newer)+len(older))
	both := overlayNames{newer, older}
	for x := both.first(); x != nil; x = both.first() {
		out = append(out, *x)
		both.pass(x.key)
	}
	return out
}

// release forgets everything: the next list begins anew.
func (x *overlayOrder) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.epoch, x.base, x.newer = 0, nil, nil
}

// overlayNames are the names that the overlay changes, in order, which a list passes one by one.
type overlayNames struct{ newer, base []nameRef }

// first returns the next name, or nil.
func (o *overlayNames) first() *nameRef {
	if len(o.newer) > 0 && (len(o.base) == 0 || o.newer[0].key <= o.base[0].key) {
		return &o.newer[0]
	}
	if len(o.base) > 0 {
		return &o.base[0]
	}
	return nil
}

// pass passes the name that first has returned.
func (o *overlayNames) pass(key string) {
	if len(o.newer) > 0 && o.newer[0].key == key {
		o.newer = o.newer[1:]
	}
	if len(o.base) > 0 && o.base[0].key == key {
		o.base = o.base[1:]
	}
}

// overlayNames returns the names under prefix behind after that the overlay changes.
func (cat *catalogue) overlayNames(prefix, after string) overlayNames {
	x := &cat.order
	x.mu.Lock()
	defer x.mu.Unlock()
	x.update(cat)
	prefix = nameKey(prefix)
	return overlayNames{below(x.newer, prefix, after), below(x.base, prefix, after)}
}

// below returns the names of a list that begin with prefix and sort after after.
func below(list []nameRef, prefix, after string) []nameRef {
	// Names before max(prefix, after) do not count, nor does after itself.
	from, found := slices.BinarySearchFunc(list, max(prefix, after), func(x nameRef, key string) int { return strings.Compare(x.key, key) })
	if found && list[from].key <= after {
		from++
	}
	list = list[from:]
	to, _ := slices.BinarySearchFunc(list, prefix, func(x nameRef, prefix string) int {
		if strings.HasPrefix(x.key, prefix) {
			return -1
		}
		return strings.Compare(x.key, prefix)
	})
	return list[:to]
}
