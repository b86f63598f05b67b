package transfer

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
)

// CopyOf returns the series of a file, for [core.Store.Import]. The copy shares the rows of f. The
// error is a [*rra.FieldError] if the file holds something that a series cannot hold.
func CopyOf(path string, f *rrdfile.File) (core.Copy, error) {
	c, _, err := copyOf(path, f)
	return c, err
}

func copyOf(path string, f *rrdfile.File) (core.Copy, *rra.Machine, error) {
	m, err := f.Machine()
	if err != nil {
		return core.Copy{}, nil, err
	}
	state, err := f.StateOf(m)
	if err != nil {
		return core.Copy{}, nil, err
	}
	c := core.Copy{Path: path, Definition: m.Definition(), State: state, Rows: make([][]float64, len(f.State.Archives))}
	for i := range c.Rows {
		if m.StreamOf(i) >= 0 {
			c.Rows[i] = f.State.Archives[i].Rows
		}
	}
	return c, m, nil
}

// FileOf returns the file of a series. The file may share rows of c.
func FileOf(c *core.Copy) (*rrdfile.File, error) {
	m, err := rra.Compile(c.Definition)
	if err != nil {
		return nil, err
	}
	rows := make([][]float64, len(c.Rows))
	for i := range rows {
		want := int(c.Definition.Archives[i].Rows) * len(c.Definition.Sources)
		rows[i] = c.Rows[i]
		if missing := want - len(rows[i]); missing > 0 && m.StreamOf(i) >= 0 {
			rows[i] = append(slices.Repeat([]float64{math.NaN()}, missing), rows[i]...)
		}
	}
	return rrdfile.New(m, &c.State, rows)
}

// cookie is the beginning of every native file.
const cookie = "RRD\x00"

// IsNative reports whether a file that begins with b is a native file, and not XML.
func IsNative(b []byte) bool { return bytes.HasPrefix(b, []byte(cookie)) }

func decodeXML(r io.Reader) (*rrdfile.File, error) {
	f, err := rrdfile.ReadXML(r, rrdfile.XMLOptions{WholeHistory: true, XenServer: true})
	if err != nil {
		return nil, fmt.Errorf("neither a native file nor XML of rrdtool: %w", err)
	}
	return f, nil
}
