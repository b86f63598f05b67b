package rrdtool

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// Nearly every line of pipe mode is `update NAME TIME:VALUE`. Such lines that have arrived together
// become one batch of the engine, which one sync of the disk makes durable. Their answers are
// written after that, in the order of the lines. Any other line, and an update with anything
// unusual in it, waits until the lines before it are answered, and then runs as a command.

// A Batcher is a Store that stores the samples of many update commands at once, such as a
// [core.Store].
type Batcher interface {
	Append(ctx context.Context, b *core.Batch) error
	// Renames returns how many times series were renamed so far.
	Renames() uint64
}

// A burst holds the update commands that were read and are not yet answered.
type burst struct {
	store Batcher          // nil: the store is no Batcher, and no line is added
	now   func() time.Time // as in Env
	names names
	batch core.Batch
	lines []burstLine

	// The line that is being read:
	samples []burstSample
	values  []rra.Value
	texts   []string
}

// A burstLine is one update command.
type burstLine struct {
	e    *alias
	text []byte // the line, valid until more input is read
	end  int    // index in the batch behind its last sample
}

// A burstSample is one sample of the line that is being read.
type burstSample struct {
	at    rra.Time
	texts int // index behind the texts of its values
}

// maxBurst bounds the lines of a burst.
const maxBurst = 16384

// longestSample is the longest text of a sample in a burst, in bytes. No value in it is longer than
// the store accepts.
const longestSample = 4096

// add adds a line to the burst. It returns false, and changes nothing, if the line is not a plain
// update command.
func (g *burst) add(line []byte) bool {
	if g.store == nil || !bytes.HasPrefix(line, updateWord) {
		return false
	}
	if len(g.lines) == 0 {
		g.names.follow(g.store.Renames())
	}
	e, rest := g.names.find(line[len(updateWord):])
	if e == nil || bytes.IndexByte(rest, '"') >= 0 || bytes.IndexByte(rest, '\'') >= 0 {
		return false
	}
	g.samples, g.values, g.texts = g.samples[:0], g.values[:0], g.texts[:0]
	for more := true; more; {
		var word []byte
		word, rest, more = bytes.Cut(rest, blank)
		if !g.sample(e.layout, word) {
			return false
		}
	}
	n, from := e.layout.values, 0
	for i := range g.samples {
		s := &g.samples[i]
		g.batch.AddText(e.ref, s.at, g.values[i*n:(i+1)*n], g.texts[from:s.texts])
		if from = s.texts; i > 0 {
			g.batch.Follow()
		}
	}
	g.lines = append(g.lines, burstLine{e, line, g.batch.Len()})
	return true
}

// sample reads a sample of whole seconds, or N. It returns false for any other.
func (g *burst) sample(l *layout, word []byte) bool {
	if len(word) > longestSample {
		return false
	}
	when, relative, values, err := l.sample(word, g.values, &g.texts)
	if err != nil || relative {
		return false
	}
	at, ok := g.plainTime(when)
	if !ok {
		return false
	}
	g.values = values
	g.samples = append(g.samples, burstSample{at, len(g.texts)})
	return true
}

// plainTime reads the time of a sample, if it is whole seconds or N.
func (g *burst) plainTime(word []byte) (at rra.Time, ok bool) {
	if string(word) == "N" {
		return rra.TimeOf(g.now()), true
	}
	sec := int64(0)
	for _, c := range word {
		if c-'0' > 9 {
			return 0, false
		}
		sec = sec*10 + int64(c-'0')
	}
	return rra.Seconds(sec), len(word) > 0 && len(word) <= 11 // else a long way ahead, or an overflow
}

// names remembers the series that update commands have named. The key is the text of name and
// template in the line, because the template stands between the name and the samples. Most clients
// update their series in the same order again and again. Each alias therefore remembers its
// successor, which is compared before the map is searched.
type names struct {
	command func() *command // makes a command with the current environment
	m       map[string]*alias
	paths   map[string]core.Ref // the series in m, by path
	layouts map[layoutKey]*layout
	last    *alias
	renames uint64 // the store's Renames when the maps were last emptied
}

// An alias is one name of a series.
type alias struct {
	next   *alias // the alias that followed this one the last time
	raw    string // name and template as they stand in the line
	name   string
	path   string
	ref    core.Ref
	layout *layout
	ended  bool
}

type layoutKey struct {
	d        *rra.Definition // the engine's own, which series of the same definition share
	template string
	given    bool
}

// The limits of names.
const (
	maxNames   = 1 << 17
	maxLayouts = 4096
	maxRaw     = 1 << 10 // bytes of a name with its template
)

// forget empties n.
func (n *names) forget() { *n = names{renames: n.renames, command: n.command} }

// follow empties n if series were renamed since it was last emptied, because a remembered reference
// may then belong to another path.
func (n *names) follow(renames uint64) {
	if n.renames != renames {
		n.forget()
		n.renames = renames
	}
}

// drop forgets an alias whose series has ended.
func (n *names) drop(e *alias) {
	delete(n.m, e.raw)
	delete(n.paths, e.path)
	e.ended = true
	if n.last == e {
		n.last = nil
	}
}

// find returns the alias that args, the words behind `update`, begin with, and the text of the
// samples. It returns nil if the words are anything but a name, a template and samples.
func (n *names) find(args []byte) (*alias, []byte) {
	if n.last != nil {
		if e := n.last.next; e != nil && !e.ended {
			if k := len(e.raw); len(args) > k+1 && args[k] == ' ' && args[k+1] != '-' && string(args[:k]) == e.raw {
				n.last = e
				return e, args[k+1:]
			}
		}
	}
	k := prefix(args)
	if k < 0 {
		return nil, nil
	}
	e := n.m[string(args[:k])]
	if e == nil {
		if e = n.lookup(string(args[:k])); e == nil {
			return nil, nil
		}
	}
	if n.last != nil {
		n.last.next = e
	}
	n.last = e
	return e, args[k+1:]
}

// prefix returns the length of the name and the template at the beginning of args, the words behind
// `update`. It returns -1 if args begin with anything else.
func prefix(args []byte) int {
	end, hasName, hasTemplate := 0, false, false
	for {
		word, rest, more := bytes.Cut(args[end:], blank)
		switch {
		case len(word) == 0:
			return -1
		case !hasTemplate && isTemplate(word):
			arg, _, more := bytes.Cut(rest, blank)
			if !more {
				return -1
			}
			hasTemplate = true
			end += len(word) + 1 + len(arg) + 1
		case word[0] == '-':
			return -1
		case hasName:
			return end - 1
		case !more:
			return -1
		default:
			hasName = true
			end += len(word) + 1
		}
	}
}

func isTemplate(word []byte) bool { return string(word) == "-t" || string(word) == "--template" }

// lookup finds the series of a name with its template and remembers it. It returns nil if only the
// update command itself can handle the line.
func (n *names) lookup(raw string) *alias {
	if len(raw) > maxRaw || strings.ContainsAny(raw, `"'\`) {
		return nil
	}
	u, _, err := n.command().newUpdating(append(strings.Split(raw, " "), ""), updatevOptions)
	if err != nil || u.open() != nil {
		return nil
	}
	series, err := u.Store.Series(u.ref)
	if err != nil || series.Definition != u.d {
		return nil
	}
	if was, ok := n.paths[series.Path]; ok && was != u.ref {
		n.forget() // the burst may hold lines for the former series, which must be stored first
		return nil
	}
	if n.m == nil || len(n.m) >= maxNames || len(n.layouts) >= maxLayouts {
		n.forget()
		n.m, n.paths, n.layouts = make(map[string]*alias), make(map[string]core.Ref), make(map[layoutKey]*layout)
	}
	key := layoutKey{u.d, u.template, u.given}
	l := n.layouts[key]
	if l == nil {
		own := u.layout // u itself is not kept
		l = &own
		n.layouts[key] = l
	}
	e := &alias{raw: raw, name: u.name, path: series.Path, ref: u.ref, layout: l}
	n.m[raw], n.paths[e.path] = e, e.ref
	return e
}

var (
	updateWord = []byte("update ")
	blank      = []byte{' '}
)
