package smon

import (
	"hash/maphash"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

const (
	keptText     = 16 << 10  // bytes of a text that are stored
	queuedTexts  = 256 << 10 // bytes of texts that may wait; then they are handed over
	sameTextWait = 60        // seconds after which a text that is the same is handed over again
	shownBytes   = 192       // bytes that a place takes without its path, about
)

// texts are the texts of a stream that wait to be handed over: the newest of each path. Several
// tokens may have the same name and index; then they write the same path.
type texts struct {
	seed    maphash.Seed
	places  []shown
	byPath  map[string]uint32 // path → index into places
	waiting []uint32          // the places of texts that wait
	size    int               // bytes of these texts
	held    int               // bytes of memory that places take
}

// A shown is a path whose metadata shows a text.
type shown struct {
	path  string
	hash  uint64 // of the text that was handed over last; 0: none was
	token *Token // the token that said this text
	seen  uint32 // Token.changes of this text
	due   uint32 // second from which the same text is handed over again
	waits bool
	text  []byte // that waits
}

func (x *texts) place(path string) uint32 {
	if i, ok := x.byPath[path]; ok {
		return i
	}
	if x.byPath == nil {
		x.byPath = make(map[string]uint32)
	}
	i := uint32(len(x.places))
	x.places = append(x.places, shown{path: path})
	x.byPath[path] = i
	x.held += shownBytes + len(path)
	return i
}

// clear forgets all places. No text may be waiting.
func (x *texts) clear() {
	if len(x.places) > 0 {
		x.places, x.byPath, x.held = nil, nil, 0
	}
}

// say takes the text of t at a place. The end of a long text is cut off.
func (x *texts) say(at uint32, t *Token, text []byte, second uint32) {
	p := &x.places[at]
	if !p.waits {
		if p.token == t && p.seen == t.changes && p.hash != 0 && second < p.due {
			return
		}
		p.waits = true
		x.waiting = append(x.waiting, at)
	}
	p.token, p.seen = t, t.changes
	text = text[:min(len(text), keptText)]
	x.size += len(text) - len(p.text)
	p.text = append(p.text[:0], text...)
}

// describe hands over the texts that wait, except for those that have not changed.
func (x *texts) describe(q *receivers.Queue, sender string, at rra.Time, second uint32) {
	for _, i := range x.waiting {
		p := &x.places[i]
		said := p.text
		p.waits, p.text = false, nil
		h := maphash.Bytes(x.seed, said) | 1
		if h == p.hash && second < p.due {
			continue
		}
		ok := q.Describe(receivers.Description{
			PathMetadata: core.PathMetadata{
				Path:     p.path,
				Metadata: core.Metadata{Time: at, Text: text.Cut(receivers.Text(said), keptText)},
			},
			Sender: sender,
		})
		if p.hash, p.due = h, second+sameTextWait; !ok {
			p.hash = 0
		}
	}
	x.waiting, x.size = x.waiting[:0], 0
}
