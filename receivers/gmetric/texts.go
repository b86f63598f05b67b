package gmetric

import "github.com/rondo-db/rondo/rra"

const (
	maxTexts      = 1 << 16  // metrics whose metadata is in memory
	maxTextBytes  = 64 << 20 // bytes of memory that they take, about
	evictionTries = 8        // metrics that are tried to make room for another
)

// texts holds the metadata of metrics in memory: until it has been handed over to the store and the
// series is made, or, if the value of the metric is a text, as long as there is room. All other
// metadata is in the store only.
type texts struct {
	byEntry map[uint32]*described // by the number of the cache's entry
	bytes   int                   // of memory that byEntry takes, about
	dirty   []uint32              // entries with something to hand over
}

type described struct {
	metric
	words  []byte // the newest value that is a text
	sender string
	at     rra.Time // when the metadata or the newest text arrived

	lost    bool // the store has no metadata of the metric any more
	store   bool // the metadata is to be stored
	relabel bool // the labels of the series are to be changed, once there is a series
	listed  bool // the entry is in dirty

	weight int // bytes counted in texts.bytes
}

// describedBytes is about how many bytes a described takes without its texts.
const describedBytes = 512

// weigh counts the bytes of d again. d is in byEntry and has changed.
func (t *texts) weigh(d *described) {
	n := describedBytes + cap(d.words)
	for _, t := range d.texts() {
		n += len(*t.text)
	}
	for _, l := range d.extra {
		n += len(l.Name) + len(l.Value) + 32
	}
	t.bytes += n - d.weight
	d.weight = n
}

// remove forgets entry i.
func (t *texts) remove(i uint32) {
	if d := t.byEntry[i]; d != nil {
		t.bytes -= d.weight
		d.weight = 0
		delete(t.byEntry, i)
	}
}

func (t *texts) init() { *t = texts{byEntry: make(map[uint32]*described)} }

// put makes room for the metadata of entry i, and returns it; nil: there is no room.
func (t *texts) put(i uint32) *described {
	if t.full() {
		tries := 0
		for j, d := range t.byEntry { // begins anywhere
			if tries++; tries > evictionTries {
				break
			}
			if !d.listed {
				t.remove(j)
			}
			if !t.full() {
				break
			}
		}
		if t.full() {
			return nil
		}
	}
	d := new(described)
	t.byEntry[i] = d
	t.weigh(d)
	return d
}

func (t *texts) full() bool { return len(t.byEntry) >= maxTexts || t.bytes >= maxTextBytes }

// restore takes d over from before the cache was restarted. i is the entry's new number.
func (t *texts) restore(i uint32, d *described) {
	t.byEntry[i] = d
	t.bytes += d.weight
	if d.listed {
		t.dirty = append(t.dirty, i)
	}
}

func (t *texts) list(i uint32, d *described) {
	if !d.listed {
		d.listed = true
		t.dirty = append(t.dirty, i)
	}
}

// settled notes that entry i has become a series.
func (t *texts) settled(i uint32) {
	d := t.byEntry[i]
	switch {
	case d == nil:
	case d.relabel:
		t.list(i, d)
	case !d.store:
		t.drop(i, d)
	}
}

// drop forgets the metadata of a series whose values are numbers, which do not need it.
func (t *texts) drop(i uint32, d *described) {
	if typ := ParseType(d.typ); typ != String && typ != Unknown {
		t.remove(i)
	}
}
