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
	idleTexts    = 64 << 10  // bytes of memory for texts that a source keeps when none waits
	sameTextWait = 60        // seconds after which a text that is the same is handed over again
	shownBytes   = 160       // bytes that a place takes without its path, about
	sayingBytes  = 32        // size of a saying
)

// texts are the texts of a stream that wait to be handed over: the newest of each path. Several
// tokens may have the same name and index; then they write the same path.
type texts struct {
	seed   maphash.Seed
	places []shown
	byPath map[string]uint32 // path → index into places
	said   []saying          // the texts that wait
	size   int               // bytes of the texts that wait
	room   int               // bytes of memory that said takes
	held   int               // bytes of memory that places take
}

// A shown is a path whose metadata shows a text.
type shown struct {
	path  string
	hash  uint64 // of the text that was handed over last; 0: none was
	token *Token // the token that said this text
	seen  uint32 // Token.changes of this text
	due   uint32 // second from which the same text is handed over again
	said  uint32 // 1 + index into texts.said; 0: no text waits
}

// A saying is a text that waits.
type saying struct {
	place uint32
	text  []byte
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
	same := p.token == t && p.seen == t.changes
	if p.said == 0 {
		if same && p.hash != 0 && second < p.due {
			return
		}
		p.said = x.add(at)
	}
	p.token, p.seen = t, t.changes
	s := &x.said[p.said-1]
	text = text[:min(len(text), keptText)]
	x.size += len(text) - len(s.text)
	x.room -= cap(s.text)
	s.text = append(s.text[:0], text...)
	x.room += cap(s.text)
}

// add adds an empty saying to x.said, with the memory of an earlier one if possible. It returns 1 +
// its index.
func (x *texts) add(at uint32) uint32 {
	if len(x.said) < cap(x.said) {
		x.said = x.said[:len(x.said)+1]
	} else {
		x.said = append(x.said, saying{})
		x.room += sayingBytes
	}
	s := &x.said[len(x.said)-1]
	s.place, s.text = at, s.text[:0]
	return uint32(len(x.said))
}

// describe hands over the texts that wait, except for those that have not changed.
func (x *texts) describe(q *receivers.Queue, sender string, at rra.Time, second uint32) {
	for i := range x.said {
		s := &x.said[i]
		p := &x.places[s.place]
		p.said = 0
		h := maphash.Bytes(x.seed, s.text) | 1
		if h == p.hash && second < p.due {
			continue
		}
		ok := q.Describe(receivers.Description{
			PathMetadata: core.PathMetadata{
				Path:     p.path,
				Metadata: core.Metadata{Time: at, Text: text.Cut(receivers.Text(s.text), keptText)},
			},
			Sender: sender,
		})
		if p.hash, p.due = h, second+sameTextWait; !ok {
			p.hash = 0
		}
	}
	if x.room > idleTexts {
		x.said, x.room = nil, 0
	}
	x.said, x.size = x.said[:0], 0
}
