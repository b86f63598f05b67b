package core_test

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// transplant exports a series and imports it again: under another name, or in place of a series.
// Sometimes rows are changed on the way, as in a file that somebody has edited.
func (m *modelRun) transplant() {
	x := pick(m.r, m.series...)
	c, err := m.s.Export(m.ctx, x.ref)
	m.must(err, "export "+x.path)
	if !slices.Equal(c.State.W, x.st.W) {
		m.fatalf("export of %s has another state", x.path)
	}
	def := c.Definition
	if m.r.IntN(2) == 0 {
		for i := range c.Rows {
			c.Rows[i] = slices.Clone(c.Rows[i])
			if n := len(c.Rows[i]); n > 0 && m.r.IntN(2) == 0 {
				c.Rows[i][m.r.IntN(n)] = pick(m.r, 4711, math.NaN(), math.Inf(1), -0.5)
			}
		}
	}
	m.made++
	c.Path = fmt.Sprintf("i%d/s%d", m.r.IntN(3), m.made)
	over := -1
	if m.r.IntN(3) == 0 {
		over = m.r.IntN(len(m.series))
		c.Path = m.series[over].path
		out, err := m.s.Import(m.ctx, []core.Copy{c}, false)
		m.must(err, "import")
		if !errors.Is(out[0].Err, core.ErrExists) || out[0].Ref != m.series[over].ref {
			m.fatalf("import over %s: %v, want ErrExists", c.Path, out[0])
		}
	}
	out, err := m.s.Import(m.ctx, []core.Copy{c}, over >= 0)
	m.must(err, "import")
	m.must(out[0].Err, "import "+c.Path)
	y := m.imported(out[0].Ref, x, &c)
	if over >= 0 {
		m.series[over] = y
	} else {
		m.series = append(m.series, y)
	}
	m.note("transplant %s to %s (%v)", x.path, c.Path, def.Args())
	m.compareSeries(y)
}

// alter changes a series in place: heartbeats, rows, an archive less.
func (m *modelRun) alter() {
	i := m.r.IntN(len(m.series))
	x := m.series[i]
	var c core.Copy
	refuse := errors.New("refused")
	if _, err := m.s.Alter(m.ctx, x.path, func(core.Copy) (core.Copy, error) { return c, refuse }); !errors.Is(err, refuse) {
		m.fatalf("alter: %v, want what the change said", err)
	}
	ref, err := m.s.Alter(m.ctx, x.path, func(old core.Copy) (core.Copy, error) {
		c = old
		c.Path = "another" // which it does not get
		d := *old.Definition
		d.Sources = slices.Clone(d.Sources)
		for j := range d.Sources {
			if d.Sources[j].Kind != rra.Compute {
				d.Sources[j].Heartbeat += 7
			}
		}
		c.Definition = &d
		c.Labels = []core.Label{{Name: "altered", Value: fmt.Sprint(m.made)}}
		for j := range c.Rows {
			if n := len(c.Rows[j]); n > 0 && m.r.IntN(2) == 0 {
				c.Rows[j] = slices.Clone(c.Rows[j])
				c.Rows[j][m.r.IntN(n)] = 17
			}
		}
		return c, nil
	})
	m.must(err, "alter "+x.path)
	m.series[i] = m.imported(ref, x, &c)
	m.note("alter %s", x.path)
	m.compareSeries(m.series[i])
}

// imported returns the series that a copy of x has become.
func (m *modelRun) imported(ref core.Ref, x *modelSeries, c *core.Copy) *modelSeries {
	info, err := m.s.Info(ref)
	m.must(err, "info")
	y := newModelSeries(info.Definition, info.Path, x.last())
	y.ref, y.labels = ref, c.Labels
	y.st = rra.State{W: slices.Clone(x.st.W), Text: slices.Clone(x.st.Text)}
	for i := range info.Definition.Archives {
		y.fill(i, c.Rows[i])
	}
	return y
}

// fill gives x the rows of an archive. Rows of archives that share a stream agree where they
// overlap.
func (x *modelSeries) fill(archive int, rows []float64) {
	d := x.m.Definition()
	stream := x.m.StreamOf(archive)
	if stream < 0 {
		return
	}
	n := len(d.Sources)
	span := d.Archives[archive].PDPs * d.Step
	first := floorDiv(x.last().Unix(), span) - int64(len(rows)/n) + 1
	for i, v := range rows {
		c := column{int32(stream), int32(i % n)}
		if x.rows[c] == nil {
			x.rows[c] = make(map[int64]float64)
		}
		x.rows[c][first+int64(i/n)] = v
	}
}
