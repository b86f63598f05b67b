package rra

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// LayoutOf returns a Machine of a shape (see Machine.Shape) whose definition is lost. It tells the
// layout of states and the streams of rows. It must not step a state: its sources and limits mean
// nothing. The error says that no definition has the shape.
func LayoutOf(shape string) (*Machine, error) {
	wrong := func(err error) error { return fmt.Errorf("shape %.100q: %w", shape, err) }
	parts := strings.Split(shape, "/")
	d := &Definition{}
	var sources int
	if _, err := fmt.Sscanf(strings.Join(parts[:min(2, len(parts))], "/"), "%d/%d", &d.Step, &sources); err != nil {
		return nil, wrong(err)
	}
	if err := checkCounts(sources, len(parts)-2); err != nil {
		return nil, wrong(err)
	}
	for i := range sources {
		d.Sources = append(d.Sources, DataSource{Name: strconv.Itoa(i), Kind: Gauge, Heartbeat: 1, Min: math.NaN(), Max: math.NaN()})
	}
	for _, part := range parts[2:] {
		a := Archive{Window: 1, Threshold: 1}
		text, own := strings.CutSuffix(part, "o")
		a.Own = own
		if _, err := fmt.Sscanf(text, "%d:%d:%d", &a.CF, &a.PDPs, &a.Rows); err != nil {
			return nil, wrong(err)
		}
		d.Archives = append(d.Archives, a)
	}
	for i := range d.Archives {
		d.Archives[i].Partner = d.anyPartner(d.Archives[i].CF)
	}
	m, err := Compile(d)
	if err != nil {
		return nil, wrong(err)
	}
	if m.Shape() != shape {
		return nil, wrong(fmt.Errorf("is written %q", m.Shape()))
	}
	return m, nil
}

// anyPartner returns an archive that one of the Holt-Winters family may have as its partner; -1: it
// needs none, or d has none.
func (d *Definition) anyPartner(cf CF) int {
	return slices.IndexFunc(d.Archives, func(a Archive) bool {
		switch cf {
		case HWPredict, MHWPredict:
			return a.CF == Seasonal
		case Seasonal, DevSeasonal:
			return a.CF == HWPredict || a.CF == MHWPredict
		case DevPredict, Failures:
			return a.CF == DevSeasonal
		}
		return false
	})
}
