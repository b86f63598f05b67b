package rrdcached

import (
	"fmt"
	"iter"
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
	var kept []byte
	n := 0
	for entry, err := range c.entries(dir, recursive) {
		if err != nil {
			c.fail(r.cmd, "List "+name+": "+explain(err))
			return
		}
		n++
		if len(kept) < listBytes {
			kept = append(append(kept, entry...), '\n')
		}
	}
	if n == 0 && dir != "" {
		c.fail(r.cmd, "List "+name+": No such file or directory")
		return
	}
	c.out = fmt.Appendf(c.out, "%d RRDs\n", n)
	if len(kept) < listBytes {
		c.out = append(c.out, kept...)
		return
	}
	for entry, err := range c.entries(dir, recursive) {
		if err != nil || n == 0 {
			break
		}
		n--
		c.out = append(append(c.out, entry...), '\n')
		if len(c.out) >= answerBytes && c.flush() != nil {
			return
		}
	}
	if n > 0 {
		c.closing = true // series were dropped meanwhile, so there are fewer lines than announced
	}
}

// entries yields what LIST shows of a directory, in the order of paths. A series lists itself.
func (c *conn) entries(dir string, recursive bool) iter.Seq2[string, error] {
	store, own := core.Simple{Engine: c.s.o.Store}, c.s.o.Own
	return func(yield func(string, error) bool) {
		folder := dir
		if dir != "" {
			if there, err := rrdtool.IsSeries(store, dir); there || err != nil {
				yield(dir[strings.LastIndexByte(dir, '/')+1:], err)
				return
			}
			folder += "/"
		}
		for entry, err := range rrdtool.Entries(c.s.life, store, folder, recursive) {
			first, _, _ := strings.Cut(entry, "/")
			if dir == "" && own != "" && first == own && err == nil {
				continue
			}
			if !yield(oneLine(strings.TrimSuffix(entry, "/")), err) {
				return
			}
		}
	}
}
