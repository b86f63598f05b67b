package backend

import (
	"cmp"
	"context"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A local is a database that this process has opened, or that is not there: store is then nil.
type local struct {
	target Target
	store  *core.Store
}

// Run runs a verb. What it prints waits until the database is closed. Without a database, verbs
// that make a series make the database, and verbs that read a native file read it.
func (l local) Run(ctx context.Context, c *Call, args []string) (int, error) {
	out := &heldOutput{to: c.Stdout}
	env := c.env()
	env.Stdout = out
	m := newMaker(l.target, l.store)
	if l.store == nil {
		env.Store = m.ofVerb(c.Plain, env.Files, args)
	} else if env.Store = l.store; !c.Plain {
		env.Extra = l.store
	}
	code := rrdtool.Run(ctx, env, args)
	if err := cmp.Or(m.close(), out.release()); err != nil {
		return 1, err
	}
	return code, nil
}

// ofVerb returns the store for a verb where there is no database.
func (m *maker) ofVerb(plain bool, files rrdtool.Files, args []string) rrdtool.Store {
	native := func(name string) bool { return name != "" && rrdtool.IsNative(files, name) }
	fresh := args[0] == "create" || args[0] == "restore"
	m.adopts = !fresh
	switch {
	case fresh || native(rrdtool.Changes(args)):
		return m
	case plain || slices.ContainsFunc(append(rrdtool.XportReads(args), rrdtool.Reads(args)), native):
		return absent{}
	}
	return absent{m.target.Missing()}
}

// Pipe runs a session. Without a database, a command that makes a series makes it.
func (l local) Pipe(ctx context.Context, c *Call, kind PipeKind) (int, error) {
	return runSession(ctx, c, &session{maker: newMaker(l.target, l.store), ctx: ctx, in: c.Stdin}, kind)
}
