package rrdtool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// What pipe mode is given is nearly always `update NAME TIME:VALUE`, line after line. Lines of that kind which have arrived
// together become one batch of the engine, and durable with one sync of the disk; their answers are written after that, in the
// order of the lines. Every other line, also an update with anything unusual in it, waits until those before it are answered,
// and is then run as a command.

// A Batcher is a Store that takes the samples of many update commands at once. An *core.Store is one.
type Batcher interface {
	Append(ctx context.Context, b *core.Batch) error
	// Renames counts the series that were renamed so far.
	Renames() uint64
}

// A group is update commands that were read and not yet answered.
type group struct {
	store Batcher // nil: there is no such thing, and no group
	names names
	batch core.Batch
	lines []groupLine

	// Of the line that is being read:
	samples []groupSample
	values  []rra.Value
	texts   []string
}

// A groupLine is one update command.
type groupLine struct {
	e    *entry
	text []byte // the line, as long as nothing more is read
	end  int    // behind its samples in the batch
}

// A groupSample is one sample of the line that is being read.
type groupSample struct {
	at    rra.Time
	texts int // behind those of its values
}

// maxGroup is how many lines a group can have.
const maxGroup = 16384

// longestReading is the longest text of a reading in a group; what is longer is no number that anybody sends.
const longestReading = 40

var (
	updateWord = []byte("update ")
	blank      = []byte{' '}
)

// take puts a line into the group, if it is of the kind that groups are made of. It returns false, and has done nothing, if not.
func (g *group) take(p *pipe, line []byte) bool {
	if g.store == nil || !bytes.HasPrefix(line, updateWord) {
		return false
	}
	if len(g.lines) == 0 {
		g.names.follow(g.store.Renames())
	}
	e, rest := g.names.entry(p, line[len(updateWord):])
	if e == nil {
		return false
	}
	g.samples, g.values, g.texts = g.samples[:0], g.values[:0], g.texts[:0]
	for more := true; more; {
		var word []byte
		word, rest, more = bytes.Cut(rest, blank)
		if !g.sample(p, e.layout, word) {
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
	g.lines = append(g.lines, groupLine{e, line, g.batch.Len()})
	return true
}

// sample reads a sample of whole seconds, or N, and readings that are numbers.
func (g *group) sample(p *pipe, l *layout, word []byte) bool {
	at, rest, ok := p.plainTime(word)
	if !ok {
		return false
	}
	for _, c := range rest {
		if c-'0' > 9 && c != ':' && c != '.' && c != 'U' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return false
		}
	}
	first, texts := len(g.values), len(g.texts)
	for range l.values {
		g.values = append(g.values, rra.Unknown)
	}
	values := g.values[first:]
	for i := range l.takes {
		t := &l.takes[i]
		text := rest
		end := bytes.IndexByte(rest, ':')
		if last := i == len(l.takes)-1; last != (end < 0) {
			return false // too few or too many
		} else if !last {
			text, rest = rest[:end], rest[end+1:]
		}
		if len(text) > longestReading {
			return false
		}
		if t.input < 0 {
			continue
		}
		v := rra.ParseReading(t.kind, text, &g.texts)
		if v.Tag >= rra.TagText {
			v.Bits -= uint64(texts)
		}
		values[t.input] = v
	}
	g.samples = append(g.samples, groupSample{at, len(g.texts)})
	return true
}

// plainTime reads the time of a sample, if it is whole seconds or N.
func (p *pipe) plainTime(word []byte) (at rra.Time, rest []byte, ok bool) {
	if len(word) > 2 && word[0] == 'N' && word[1] == ':' {
		return rra.TimeOf(p.env.Now()), word[2:], true
	}
	sec, i := int64(0), 0
	for i < len(word) && word[i]-'0' <= 9 {
		sec = sec*10 + int64(word[i]-'0')
		if i++; i > 11 { // a long way ahead, or an overflow
			return 0, nil, false
		}
	}
	if i == 0 || i == len(word) || word[i] != ':' {
		return 0, nil, false
	}
	return rra.Seconds(sec), word[i+1:], true
}

// settle stores what the group has, and answers its lines.
func (p *pipe) settle() {
	g := &p.group
	if len(g.lines) == 0 {
		return
	}
	g.batch.Rejections = g.batch.Len()
	err := g.store.Append(p.ctx, &g.batch)
	if err == nil {
		p.ok = p.appendOK(p.ok[:0])
		for range g.lines {
			_, _ = p.out.Write(p.ok) // an error comes back when it is flushed
		}
	} else {
		p.explain(err)
	}
	clear(g.lines) // they hold entries
	g.lines = g.lines[:0]
	g.batch.Reset()
}

// explain answers the lines of a group of which not all was stored.
func (p *pipe) explain(err error) {
	g := &p.group
	rejected, some := errors.AsType[*core.RejectedError](err)
	var first []core.Rejection
	if some {
		first = rejected.First
	}
	for i := range g.lines {
		l := &g.lines[i]
		var why error
		if !some {
			why = err
		}
		for len(first) > 0 && first[0].Index < l.end {
			if why == nil {
				why = first[0].Err
			}
			first = first[1:]
		}
		switch {
		case why == nil:
			p.reply(nil)
		case errors.Is(why, core.ErrNotFound): // the series has ended, and its name may be that of another
			g.names.drop(l.e)
			p.do(l.text)
		default:
			p.reply(refusal(l.e.name, why))
		}
	}
}

// refusal puts into rrdtool's words why a sample was not taken.
func refusal(name string, err error) error {
	if late, ok := errors.AsType[*rra.TimeError](err); ok {
		return tooLate(name, late.At.Unix(), late)
	}
	if value, ok := errors.AsType[*rra.ValueError](err); ok {
		return fmt.Errorf("%s: %w", name, value.Err)
	}
	return err
}

// tooLate says that a sample at a second, as it was given, is not after the last one.
func tooLate(name string, at int64, late *rra.TimeError) error {
	return fmt.Errorf("%s: illegal attempt to update using time %d when last update time is %d (minimum one second step)", name, at, late.Last.Unix())
}

// appendOK appends the answer of a command that worked.
func (p *pipe) appendOK(dst []byte) []byte {
	dst = append(dst, "OK u:0.00 s:0.00 r:"...)
	dst = strconv.AppendFloat(dst, time.Since(p.began).Seconds(), 'f', 2, 64)
	return append(dst, '\n')
}

// names are the series that update commands have named, as they named them: with the template, because that stands between the
// name and the samples. Most clients name theirs in the same order again and again: the next is guessed from the one before it.
type names struct {
	m       map[string]*entry
	paths   map[string]core.Ref // of the series in m
	layouts map[layoutKey]*layout
	last    *entry
	renames uint64 // of the store, when the maps were emptied
}

// An entry is one name of a series.
type entry struct {
	next   *entry // what was named after it the last time
	raw    string // name and template as they stand in the line
	name   string
	path   string
	ref    core.Ref
	layout *layout
	ended  bool
}

// A layout says where the readings of a sample go.
type layout struct {
	takes  []target
	values int // readings that the engine takes
}

type target struct {
	kind  rra.Kind
	input int // among the readings that the engine takes; -1: none of them
}

type layoutKey struct {
	d        *rra.Definition // the engine's own: series that are alike share it
	template string
	given    bool
}

// The most that is remembered.
const (
	maxNames   = 1 << 17
	maxLayouts = 4096
	maxRaw     = 1 << 10 // bytes of a name with its template
)

// forget empties n.
func (n *names) forget() { *n = names{renames: n.renames} }

// follow empties n if series were renamed since: their references are other paths' now.
func (n *names) follow(renames uint64) {
	if n.renames != renames {
		n.forget()
		n.renames = renames
	}
}

// drop forgets an entry whose series has ended.
func (n *names) drop(e *entry) {
	delete(n.m, e.raw)
	delete(n.paths, e.path)
	e.ended = true
	if n.last == e {
		n.last = nil
	}
}

// entry returns what args, the words behind `update`, begin with, and the samples. It is nil if that is anything unusual.
func (n *names) entry(p *pipe, args []byte) (*entry, []byte) {
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
		if e = n.lookup(p, string(args[:k])); e == nil {
			return nil, nil
		}
	}
	if n.last != nil {
		n.last.next = e
	}
	n.last = e
	return e, args[k+1:]
}

// prefix returns how much of args, the words behind `update`, is the name and a template; -1: they are anything else.
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

// lookup remembers the series of a name, with its template. It returns nil if there is something about it that only the command
// itself can tell.
func (n *names) lookup(p *pipe, raw string) *entry {
	if len(raw) > maxRaw || strings.ContainsAny(raw, `"'\`) {
		return nil
	}
	u, _, err := p.command().newUpdating(append(strings.Split(raw, " "), ""), updatevOptions)
	if err != nil || u.open() != nil {
		return nil
	}
	series, err := u.Store.Series(u.ref)
	if err != nil || series.Definition != u.d {
		return nil
	}
	if was, ok := n.paths[series.Path]; ok && was != u.ref {
		n.forget() // lines of the group may still name the one that was: this one must come after them
		return nil
	}
	if n.m == nil || len(n.m) >= maxNames || len(n.layouts) >= maxLayouts {
		n.forget()
		n.m, n.paths, n.layouts = make(map[string]*entry), make(map[string]core.Ref), make(map[layoutKey]*layout)
	}
	key := layoutKey{u.d, u.template, u.given}
	l := n.layouts[key]
	if l == nil {
		l = u.layout()
		n.layouts[key] = l
	}
	e := &entry{raw: raw, name: u.name, path: series.Path, ref: u.ref, layout: l}
	n.m[raw], n.paths[e.path] = e, e.ref
	return e
}

// layout returns where the readings of the command's samples go.
func (u *updating) layout() *layout {
	l := &layout{takes: make([]target, len(u.takes))}
	for i, ds := range u.takes {
		l.takes[i] = target{u.d.Sources[ds].Kind, u.inputs[ds]}
	}
	for _, in := range u.inputs {
		l.values = max(l.values, in+1)
	}
	return l
}

// increasing returns a clock that is later each time it is looked at, if only by a microsecond: two commands at N are two
// samples. Where the time was set back it follows.
func increasing(now func() time.Time) func() time.Time {
	var told time.Time
	return func() time.Time {
		t := now().Truncate(time.Microsecond)
		if ahead := told.Sub(t); ahead >= 0 && ahead < time.Second {
			t = told.Add(time.Microsecond)
		}
		told = t
		return t
	}
}
