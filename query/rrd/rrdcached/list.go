package rrdcached

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// listBytes is how many bytes of a list are kept while it is counted. A longer list is read twice.
const listBytes = 1 << 20

// list shows the series of a directory. The answer begins with their number. If the list is too
// long to keep, it is read once to count it, and again to send so many lines.
func (c *conn) list(r *request) {
	word, ok := r.next()
	recursive := ok && string(word) == "RECURSIVE"
	if recursive {
		word, ok = r.next()
	}
	if !ok || !recursive && !strings.HasPrefix(string(word), "/") {
		c.usage(r.cmd)
		return
	}
	name := c.s.names.base + string(word)
	dir, err := rrdtool.Path("", "", string(word))
	if err != nil {
		c.fail(r.cmd, "List "+name+": Permission denied")
		return
	}
	l := &listing{c: c, dir: dir, recursive: recursive}
	var kept []byte
	n := 0
	err = l.walk(func(entry string) error {
		n++
		if len(kept) < listBytes {
			kept = append(append(kept, entry...), '\n')
		}
		return nil
	})
	switch {
	case err != nil:
		c.fail(r.cmd, "List "+name+": "+explain(err))
		return
	case n == 0 && !l.found && dir != "":
		c.fail(r.cmd, "List "+name+": No such file or directory")
		return
	}
	c.out = fmt.Appendf(c.out, "%d RRDs\n", n)
	if len(kept) < listBytes {
		c.out = append(c.out, kept...)
		return
	}
	err = l.walk(func(entry string) error {
		if n == 0 {
			return errEnough
		}
		n--
		c.out = append(append(c.out, entry...), '\n')
		if len(c.out) >= answerBytes {
			return c.flush()
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) || n > 0 {
		c.closing = true // series were dropped meanwhile, so there are fewer lines than announced
	}
}

var errEnough = errors.New("enough")

// A listing reads the entries of a directory.
type listing struct {
	c         *conn
	dir       string // path of the directory, or of a series
	recursive bool
	found     bool // the directory or the series exists
}

// walk calls fn for each entry, in order of paths.
func (l *listing) walk(fn func(entry string) error) error {
	store, ctx := core.Simple{Engine: l.c.s.o.Store}, l.c.s.life
	if l.dir != "" {
		there, err := rrdtool.IsSeries(store, l.dir)
		if err != nil {
			return err
		}
		if there { // a series lists itself
			l.found = true
			return fn(l.dir[strings.LastIndexByte(l.dir, '/')+1:])
		}
	}
	dir := l.dir
	if dir != "" {
		dir += "/"
	}
	tell := func(entry string) error {
		entry = oneLine(entry)
		if own := l.c.s.o.Own; l.dir == "" && own != "" && (entry == own || strings.HasPrefix(entry, own) && entry[len(own)] == '/') {
			return nil
		}
		l.found = true
		return fn(entry)
	}
	if l.recursive {
		return rrdtool.Walk(ctx, store, dir, "", func(s core.Series) error { return tell(s.Path[len(dir):]) })
	}
	return rrdtool.Entries(ctx, store, dir, func(entry string, _ bool) error { return tell(entry) })
}
