package rrdtool

import (
	"strconv"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// This file has the part of info that rrdtool does not have.

// quoted prints a text that came from outside, with control characters escaped.
func (c *command) quoted(key, v string) { c.printf("%s = %s\n", key, strconv.Quote(v)) }

// onlyExtra prints metadata and notes of a path that is not a series. It reports whether there are
// any.
func (c *command) onlyExtra(name string) bool {
	path, err := c.path(name)
	if err != nil {
		return false
	}
	m, err := c.Extra.Metadata(path)
	notes := c.notes(path)
	if (err != nil || m.Time == 0) && len(notes) == 0 {
		return false
	}
	c.printf("filename = \"%s\"\n", name)
	c.extra(path)
	return true
}

// extra prints the metadata and the notes of a path.
func (c *command) extra(path string) {
	if m, err := c.Extra.Metadata(path); err == nil && m.Time != 0 {
		c.metadata(&m)
	}
	for i, n := range c.notes(path) {
		key := "note[" + strconv.Itoa(i) + "]."
		c.printf("%stime = %s\n", key, seconds(n.Time))
		c.quoted(key+"severity", n.Severity)
		c.quoted(key+"text", n.Text)
	}
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

func (c *command) notes(path string) []core.Note {
	notes, err := c.Extra.Notes(c.ctx, path)
	if err != nil {
		return nil
	}
	return notes[path]
}

func seconds(t rra.Time) string { return strconv.FormatInt(t.Unix(), 10) }
