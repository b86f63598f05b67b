package rrdtoolbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A GraphConfig says how many pictures are drawn.
type GraphConfig struct {
	Programs
	// Rounds is how often the programs take turns. The least figure of them is taken.
	Rounds int
	// Pictures is how many pictures of a kind a program draws when it is its turn.
	Pictures int
}

// A GraphCase is what one picture costs in one program.
type GraphCase struct {
	Graph   string  `json:"graph"`
	Format  string  `json:"format"` // svg or png
	Name    string  `json:"name"`
	Running bool    `json:"running"` // one process draws them all; else each has a process of its own
	CPU     float64 `json:"cpu_ms"`  // processor time a picture, a server's included
	// Ratio is CPU divided by rrdtool's, which runs on, or has a process a picture, as this program
	// does. It is 0 if rrdtool is not measured.
	Ratio float64 `json:"of_rrdtool,omitempty"`
	Bytes int     `json:"bytes"` // of the last picture
}

// maxPictures is how many pictures of a kind a program may be asked for: each shows another year.
const maxPictures = 1000

// Graph measures how long programs draw. All draw the same pictures of the same data in turns, each
// picture of another year, so that no program can show a picture again.
func Graph(ctx context.Context, c GraphConfig) (_ []GraphCase, err error) {
	if c.Rounds < 1 || c.Pictures < 1 || c.Rounds > maxPictures/c.Pictures {
		return nil, fmt.Errorf("bench: rounds and pictures must be at least 1, and no more than %d together", maxPictures)
	}
	c.say("making %d series", sources)
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	painters, err := c.painters(ctx)
	defer func() {
		for _, p := range painters {
			err = errors.Join(err, p.end())
		}
	}()
	if err != nil {
		return nil, err
	}
	var out []GraphCase
	for _, g := range graphs {
		for _, format := range []string{"svg", "png"} {
			c.say("drawing: %s, %s", g.name, format)
			ms, err := c.turns(ctx, painters, g, format)
			if err != nil {
				return nil, err
			}
			out = append(out, ms...)
		}
	}
	return out, nil
}

// turns has every program draw one graph.
func (c *GraphConfig) turns(ctx context.Context, painters []painter, g graph, format string) ([]GraphCase, error) {
	ms := make([]GraphCase, len(painters))
	for round := range c.Rounds {
		for i, p := range painters {
			m := &ms[i]
			*m = GraphCase{Graph: g.name, Format: format, Name: p.name(), Running: p.running(), CPU: m.CPU}
			var took time.Duration
			for n := range c.Pictures {
				hour := round*c.Pictures + n
				data, cpu, err := p.draw(ctx, g, format, hour)
				if err == nil {
					err = checkPicture(format, data)
				}
				if err != nil {
					return nil, fmt.Errorf("%s: %s, %s: %w", p.name(), g.name, format, err)
				}
				took += cpu
				m.Bytes = len(data)
			}
			if ms := took.Seconds() * 1e3 / float64(c.Pictures); round == 0 || ms < m.CPU {
				m.CPU = ms
			}
		}
	}
	for i := range ms {
		base := slices.IndexFunc(ms, func(m GraphCase) bool { return m.Name == rrdtoolName(ms[i].Running) })
		if base >= 0 && ms[base].CPU > 0 {
			ms[i].Ratio = ms[i].CPU / ms[base].CPU
		}
	}
	return ms, nil
}
