package rrdclient

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// INFO shows nearly everything about a series. For Holt-Winters archives it leaves out which of
// them belong together, and the rows of their rings. pair guesses the former, in the order in which
// rrdtool arranges archives by itself; the rows are unknown here.

// An infoReader reads values from the lines of INFO. err is about the first value that does not
// parse.
type infoReader struct {
	values map[string]string
	err    error
}

func (r *infoReader) fail(key string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s does not parse", key)
	}
}

func (r *infoReader) integer(key string) int64 {
	v, err := strconv.ParseInt(r.values[key], 10, 64)
	if err != nil {
		r.fail(key)
	}
	return v
}

func (r *infoReader) number(key string) float64 {
	v, err := parseFloat(r.values[key])
	if err != nil {
		r.fail(key)
	}
	return v
}

// maxRing bounds the values of the rings that are part of a state.
const maxRing = 1 << 20

// parseInfo makes a series from the lines of INFO. Each line holds a key, a type and a value.
func parseInfo(lines []string) (core.Info, error) {
	r := &infoReader{values: make(map[string]string, len(lines))}
	var names []string
	archives := 0
	for _, line := range lines {
		key, rest, _ := strings.Cut(line, " ")
		_, value, ok := strings.Cut(rest, " ")
		if !ok {
			value = "" // an empty text
		}
		r.values[key] = value
		if name, ok := strings.CutSuffix(key, "].type"); ok && strings.HasPrefix(name, "ds[") {
			names = append(names, name[len("ds["):])
		}
		if strings.HasPrefix(key, "rra[") && strings.HasSuffix(key, "].cf") {
			archives++
		}
	}
	d := &rra.Definition{Step: r.integer("step")}
	for _, name := range names {
		d.Sources = append(d.Sources, r.source(name))
	}
	for i := range archives {
		d.Archives = append(d.Archives, r.archive(i))
	}
	if r.err != nil {
		return core.Info{}, r.err
	}
	ring := int64(0)
	for i := range d.Archives {
		if a := &d.Archives[i]; a.CF == rra.Seasonal || a.CF == rra.DevSeasonal {
			ring += min(max(a.Rows, 0), maxRing) * int64(len(names))
		}
	}
	if ring > maxRing {
		return core.Info{}, fmt.Errorf("seasonal archives of %d values are more than %d", ring, maxRing)
	}
	pair(d.Archives)
	m, err := rra.Compile(d)
	if err != nil {
		return core.Info{}, err
	}
	state, err := m.Import(r.snapshot(m, names))
	if err == nil {
		err = r.err
	}
	return core.Info{Series: core.Series{Definition: m.Definition()}, Machine: m, State: state}, err
}

func (r *infoReader) source(name string) rra.DataSource {
	key := func(k string) string { return "ds[" + name + "]." + k }
	kind, err := rra.ParseKind(r.values[key("type")])
	if err != nil {
		r.fail(key("type"))
	}
	s := rra.DataSource{Name: name, Kind: kind, Min: math.NaN(), Max: math.NaN()}
	if kind == rra.Compute {
		s.Expr = r.values[key("cdef")]
		return s
	}
	s.Heartbeat, s.Min, s.Max = r.integer(key("minimal_heartbeat")), r.number(key("min")), r.number(key("max"))
	return s
}

func (r *infoReader) archive(i int) rra.Archive {
	key := func(k string) string { return fmt.Sprintf("rra[%d].%s", i, k) }
	cf, err := rra.ParseCF(r.values[key("cf")])
	if err != nil {
		r.fail(key("cf"))
	}
	a := rra.Archive{CF: cf, PDPs: r.integer(key("pdp_per_row")), Rows: r.integer(key("rows"))}
	if cf > rra.Last {
		a.Partner = -1
	}
	switch cf {
	case rra.HWPredict, rra.MHWPredict:
		a.Alpha, a.Beta = r.number(key("alpha")), r.number(key("beta"))
	case rra.Seasonal, rra.DevSeasonal:
		a.Gamma, a.SmoothingWindow = r.number(key("gamma")), math.NaN()
		if _, ok := r.values[key("smoothing_window")]; ok {
			a.SmoothingWindow = r.number(key("smoothing_window"))
		}
	case rra.Failures:
		a.DeltaPos, a.DeltaNeg = r.number(key("delta_pos")), r.number(key("delta_neg"))
		a.Threshold, a.Window = int(r.integer(key("failure_threshold"))), int(r.integer(key("window_length")))
	case rra.DevPredict:
	default:
		a.XFF = r.number(key("xff"))
	}
	return a
}

// pair sets the partners of Holt-Winters archives: the nearest archive before each one that it can
// belong to, or else the nearest behind it.
func pair(as []rra.Archive) {
	near := func(i int, cfs ...rra.CF) int {
		for d := 1; d < len(as); d++ {
			for _, j := range [...]int{i - d, i + d} {
				if j >= 0 && j < len(as) && slices.Contains(cfs, as[j].CF) {
					return j
				}
			}
		}
		return -1
	}
	for i := range as {
		switch a := &as[i]; a.CF {
		case rra.HWPredict, rra.MHWPredict:
			a.Partner = near(i, rra.Seasonal)
		case rra.Seasonal, rra.DevSeasonal:
			a.Partner = near(i, rra.HWPredict, rra.MHWPredict)
		case rra.DevPredict, rra.Failures:
			a.Partner = near(i, rra.DevSeasonal)
		}
	}
}

func (r *infoReader) snapshot(m *rra.Machine, names []string) *rra.Snapshot {
	d := m.Definition()
	x := &rra.Snapshot{LastUpdate: rra.Seconds(r.integer("last_update"))}
	for _, name := range names {
		key := func(k string) string { return "ds[" + name + "]." + k }
		x.Sources = append(x.Sources, rra.SourceSnapshot{
			LastReading: r.values[key("last_ds")], Value: r.number(key("value")), UnknownSec: r.integer(key("unknown_sec")),
		})
	}
	for i := range d.Archives {
		a := &d.Archives[i]
		s := rra.ArchiveSnapshot{CurRow: r.integer(fmt.Sprintf("rra[%d].cur_row", i))}
		for j := range names {
			s.CDPs = append(s.CDPs, r.cdp(a.CF, fmt.Sprintf("rra[%d].cdp_prep[%d].", i, j)))
		}
		if a.CF == rra.Seasonal || a.CF == rra.DevSeasonal {
			s.Rows = slices.Repeat([]float64{math.NaN()}, int(a.Rows)*len(names))
		}
		x.Archives = append(x.Archives, s)
	}
	return x
}

func (r *infoReader) cdp(cf rra.CF, key string) rra.CDP {
	var c rra.CDP
	switch cf {
	case rra.HWPredict, rra.MHWPredict:
		c.Intercept, c.Slope, c.NullCount = r.number(key+"intercept"), r.number(key+"slope"), r.integer(key+"NaN_count")
	case rra.Seasonal:
		c.Seasonal = r.number(key + "seasonal")
	case rra.DevSeasonal:
		c.Seasonal = r.number(key + "deviation")
	case rra.Failures:
		c.History = r.values[key+"history"]
	case rra.DevPredict:
	default:
		c.Value, c.Unknown = r.number(key+"value"), r.integer(key+"unknown_datapoints")
	}
	return c
}

// parseFloat reads what C's printf prints.
func parseFloat(text string) (float64, error) {
	if strings.EqualFold(strings.TrimPrefix(text, "-"), "nan") {
		return math.NaN(), nil
	}
	return strconv.ParseFloat(text, 64)
}
