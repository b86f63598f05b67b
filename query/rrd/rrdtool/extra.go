package rrdtool

import (
	"errors"
	"strconv"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// This file has the part of info that rrdtool does not have.

// quoted prints a text that came from outside, with control characters escaped.
func (c *command) quoted(key, v string) { c.printf("%s = %s\n", key, strconv.Quote(v)) }

// onlyExtra prints metadata and notes of a path that is not a series. It reports whether there are
// any.
func (c *command) onlyExtra(name string) (bool, error) {
	path, err := c.Path(name)
	if err != nil {
		return false, nil
	}
	return c.extra(path, func() { c.printf("filename = \"%s\"\n", name) })
}

// extra prints the metadata and the notes of a path, behind what head prints. It reports whether
// there are any; without them head is not called.
func (c *command) extra(path string, head func()) (bool, error) {
	m, err := c.Extra.Metadata(path)
	var byKey map[string][]core.Note
	if err == nil || errors.Is(err, core.ErrNotFound) {
		byKey, err = c.Extra.Notes(c.ctx, path)
	}
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return false, err
	}
	notes := byKey[path]
	if m.Time == 0 && len(notes) == 0 {
		return false, nil
	}
	head()
	if m.Time != 0 {
		c.metadata(&m)
	}
	for i, n := range notes {
		key := "note[" + strconv.Itoa(i) + "]."
		c.printf("%stime = %s\n", key, seconds(n.Time))
		c.quoted(key+"severity", n.Severity)
		c.quoted(key+"text", n.Text)
	}
	return true, nil
}

func (c *command) metadata(m *core.Metadata) {
	c.printf("metadata_time = %s\n", seconds(m.Time))
	if m.Text != "" {
		c.quoted("text", m.Text)
	}
	for _, a := range m.Attributes {
		c.quoted("attribute["+a.Name+"]", a.Value)
	}
	if m.Expire > 0 {
		c.printf("expire = %d\n", m.Expire)
	}
	if m.Expired {
		c.printf("expired = 1\n")
	}
}

func seconds(t rra.Time) string { return strconv.FormatInt(t.Unix(), 10) }
