package otlp

import (
	"slices"
	"strings"

	"github.com/prometheus/otlptranslator"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// The longest texts that are kept of a metric, in bytes.
const (
	maxHelp = 2000
	maxUnit = 200
)

// texts returns what the metric at hand says of itself, as attributes of metadata.
func (d *decoder) texts() []core.Label {
	if d.mode == info {
		return nil
	}
	kind := "gauge"
	switch {
	case d.typ == typeHistogram, d.typ == typeExponential:
		kind = "histogram"
	case d.typ == typeSummary:
		kind = "summary"
	case d.mode == counter, d.mode.adds():
		kind = "counter"
	}
	out := make([]core.Label, 0, 3) // in order of their names
	if help := kept(receivers.Text(d.help), maxHelp); help != "" {
		out = append(out, core.Label{Name: "help", Value: help})
	}
	out = append(out, core.Label{Name: "type", Value: kind})
	namer := otlptranslator.UnitNamer{}
	if unit := kept(namer.Build(receivers.Text(d.unit)), maxUnit); unit != "" {
		out = append(out, core.Label{Name: "unit", Value: unit})
	}
	return out
}

// kept returns a text that an attribute can hold.
func kept(s string, most int) string {
	return text.Cut(strings.ReplaceAll(s, "\x00", ""), most)
}

// describe stores the texts of the newcomers whose series there are, where they differ from what is
// stored. A failure is counted, and does not keep values from being stored.
func (e *export) describe() {
	var ds []receivers.Description
	reqs := e.news.Requests()
	for i := range reqs {
		q, texts := &reqs[i], e.asked[i].texts
		if q.Err != nil || texts == nil {
			continue
		}
		if !q.Made {
			if m, err := e.sink.Metadata(e.ctx, q.Path); err == nil && slices.Equal(m.Attributes, texts) {
				continue
			}
		}
		m := core.Metadata{Time: rra.TimeOf(e.now), Attributes: texts}
		ds = append(ds, receivers.Description{PathMetadata: core.PathMetadata{Path: q.Path, Metadata: m}, Sender: q.Sender, Known: true})
	}
	if len(ds) == 0 {
		return
	}
	out, err := e.sink.Describe(e.ctx, ds)
	for _, refused := range out {
		if err == nil && refused != nil {
			e.Drop(receivers.Limit, 1)
		}
	}
	if err != nil {
		e.Drop(receivers.FailureReason(err), uint64(len(ds)))
		e.lines.Log(e.cfg.Logger.Error, "describe", e.now, "otlp: metadata not stored", "series", len(ds), "err", err)
	}
}
