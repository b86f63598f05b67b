package rrdtool

import (
	"bytes"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

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
