package search

import (
	"bytes"
	"hash/maphash"
	"strings"
)

// seed makes the hashes of each run others: who chooses names cannot choose names that collide.
var seed = maphash.MakeSeed()

// hashOf returns the hash of a text.
func hashOf(s string) uint64 { return maphash.String(seed, s) }

// A hashed is an open hash table of numbers above 0. Its user keeps what the numbers stand for.
type hashed struct {
	slots []uint32 // 0: free
	used  int
}

// find returns the number that equal accepts among those with a hash, or 0.
func (h *hashed) find(hash uint64, equal func(id uint32) bool) uint32 {
	if len(h.slots) == 0 {
		return 0
	}
	mask := uint64(len(h.slots) - 1)
	for at := hash & mask; h.slots[at] != 0; at = (at + 1) & mask {
		if equal(h.slots[at]) {
			return h.slots[at]
		}
	}
	return 0
}

// add adds a number that is not in the table. hashOf returns the hash of a number in it.
func (h *hashed) add(hash uint64, id uint32, hashOf func(id uint32) uint64) {
	if 4*(h.used+1) > 3*len(h.slots) {
		old := h.slots
		h.slots = make([]uint32, max(2*len(old), 64))
		for _, id := range old {
			if id != 0 {
				h.put(hashOf(id), id)
			}
		}
	}
	h.put(hash, id)
	h.used++
}

func (h *hashed) put(hash uint64, id uint32) {
	mask := uint64(len(h.slots) - 1)
	at := hash & mask
	for h.slots[at] != 0 {
		at = (at + 1) & mask
	}
	h.slots[at] = id
}

// texts numbers different strings, from 1 on. It also has them in lower case, to find words in
// them.
type texts struct {
	table  hashed
	ends   []uint32 // of string i-1 in all; ends[0] is 0
	all    []byte
	folded []byte   // in lower case, each with a '\n' behind it
	starts []uint32 // of string i-1 in folded
}

// maxTextBytes bounds all and folded, whose places are 32 bits.
const maxTextBytes = 1 << 31

func (t *texts) text(id uint32) string {
	if id == 0 {
		return ""
	}
	return string(t.bytes(id))
}

func (t *texts) bytes(id uint32) []byte { return t.all[t.ends[id-1]:t.ends[id]] }

// fold returns string id in lower case.
func (t *texts) fold(id uint32) []byte {
	end := uint32(len(t.folded))
	if int(id) < len(t.starts) {
		end = t.starts[id]
	}
	return t.folded[t.starts[id-1] : end-1]
}

// len returns how many strings there are.
func (t *texts) len() int { return len(t.starts) }

// id returns the number of a string, or 0 if it is not there or empty.
func (t *texts) id(s string) uint32 {
	return t.table.find(hashOf(s), func(id uint32) bool { return string(t.bytes(id)) == s })
}

// add returns the number of a string, which is not empty, and adds it if it is not there.
func (t *texts) add(s string) uint32 {
	if id := t.id(s); id != 0 {
		return id
	}
	if len(t.ends) == 0 {
		t.ends = append(t.ends, 0)
	}
	t.starts = append(t.starts, uint32(len(t.folded)))
	t.all = append(t.all, s...)
	t.ends = append(t.ends, uint32(len(t.all)))
	t.folded = append(append(t.folded, strings.ToLower(s)...), '\n')
	id := uint32(len(t.starts))
	t.table.add(hashOf(s), id, func(id uint32) uint64 { return maphash.Bytes(seed, t.bytes(id)) })
	return id
}

// memory returns the bytes that the texts take.
func (t *texts) memory() int64 {
	return int64(4*cap(t.table.slots) + 4*cap(t.ends) + cap(t.all) + cap(t.folded) + 4*cap(t.starts))
}

// each calls fn for every string that has a word, which is in lower case, and passes where in the
// string the word first is, in bytes.
func (t *texts) each(word []byte, fn func(id uint32, at int)) {
	id := 0
	for from := 0; from < len(t.folded); {
		i := bytes.Index(t.folded[from:], word)
		if i < 0 {
			return
		}
		i += from
		id = t.holder(id, uint32(i))
		fn(uint32(id+1), i-int(t.starts[id]))
		if id++; id == len(t.starts) {
			return
		}
		from = int(t.starts[id])
	}
}

// holder returns the index of the string at a place of folded. It is not before index low.
func (t *texts) holder(low int, at uint32) int {
	step := 1
	for low+step < len(t.starts) && t.starts[low+step] <= at {
		low, step = low+step, 2*step
	}
	for step > 0 {
		if low+step < len(t.starts) && t.starts[low+step] <= at {
			low += step
		} else {
			step /= 2
		}
	}
	return low
}
