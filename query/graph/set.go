package graph

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/rondo-db/rondo/query/graph/canvas"
	"github.com/rondo-db/rondo/query/graphdata"
	"github.com/rondo-db/rondo/query/rrd/attime"
	"github.com/rondo-db/rondo/rra"
)

// Set takes an option by its long name. The error has rrdtool's words.
func (o *Options) Set(name, arg string) error {
	for i := range Flags {
		if f := &Flags[i]; f.Long == name {
			return f.set(o, arg)
		}
	}
	return fmt.Errorf("unknown option '%s'", name)
}

// A Flag is an option of a graph.
type Flag struct {
	Long     string
	Short    byte // 0: none
	Argument bool // it takes one
	set      func(o *Options, arg string) error
}

// Flags are the options of a graph, as in rrdtool 1.7.2, and the newer --utc and --add-jsontime.
var Flags = []Flag{
	{"start", 's', true, func(o *Options, arg string) error { return o.times.Set("start", arg) }},
	{"end", 'e', true, func(o *Options, arg string) error { return o.times.Set("end", arg) }},
	{"x-grid", 'x', true, (*Options).setXGrid},
	{"y-grid", 'y', true, (*Options).setYGrid},
	{"vertical-label", 'v', true, text(func(o *Options) *string { return &o.VerticalLabel })},
	{"width", 'w', true, func(o *Options, arg string) error { return side(&o.Width, arg, "width") }},
	{"height", 'h', true, func(o *Options, arg string) error { return side(&o.Height, arg, "height") }},
	{"full-size-mode", 'D', false, on(func(o *Options) *bool { return &o.FullSize })},
	{"upper-limit", 'u', true, func(o *Options, arg string) error { return strict(&o.Max, arg, 'u') }},
	{"lower-limit", 'l', true, func(o *Options, arg string) error { return strict(&o.Min, arg, 'l') }},
	{"rigid", 'r', false, on(func(o *Options) *bool { return &o.Rigid })},
	{"allow-shrink", 0, false, on(func(o *Options) *bool { return &o.AllowShrink })},
	{"base", 'b', true, (*Options).setBase},
	{"logarithmic", 'o', false, on(func(o *Options) *bool { return &o.Log })},
	{"color", 'c', true, (*Options).setColor},
	{"font", 'n', true, (*Options).setFont},
	{"title", 't', true, text(func(o *Options) *string { return &o.Title })},
	{"imginfo", 'f', true, text(func(o *Options) *string { return &o.ImageInfo })},
	{"imgformat", 'a', true, (*Options).setFormat},
	{"lazy", 'z', false, on(func(o *Options) *bool { return &o.Lazy })},
	{"zoom", 'm', true, (*Options).setZoom},
	{"no-legend", 'g', false, on(func(o *Options) *bool { return &o.NoLegend })},
	{"force-rules-legend", 'F', false, on(func(o *Options) *bool { return &o.ForceRules })},
	{"only-graph", 'j', false, on(func(o *Options) *bool { return &o.OnlyGraph })},
	{"alt-y-grid", 'Y', false, on(func(o *Options) *bool { return &o.AltYGrid })},
	{"no-minor", 'I', false, on(func(o *Options) *bool { return &o.NoMinor })},
	{"slope-mode", 'E', false, on(func(o *Options) *bool { return &o.Slope })},
	{"alt-autoscale", 'A', false, on(func(o *Options) *bool { return &o.AltAuto })},
	{"alt-autoscale-min", 'J', false, on(func(o *Options) *bool { return &o.AltAutoMin })},
	{"alt-autoscale-max", 'M', false, on(func(o *Options) *bool { return &o.AltAutoMax })},
	{"no-gridfit", 'N', false, on(func(o *Options) *bool { return &o.NoGridFit })},
	{"units-exponent", 'X', true, func(o *Options, arg string) error {
		o.UnitsExponent, o.HasExponent = atoi(arg), true
		return nil
	}},
	{"units-length", 'L', true, func(o *Options, arg string) error {
		o.UnitsLength, o.HasUnitsLength = min(max(atoi(arg), -MaxSide), MaxSide), true
		return nil
	}},
	{"units", 0, true, (*Options).setUnits},
	{"step", 'S', true, func(o *Options, arg string) error {
		o.Step = int64(atoi(arg))
		return nil
	}},
	{"tabwidth", 'T', true, func(o *Options, arg string) error { return strict(&o.TabWidth, arg, 'T') }},
	{"font-render-mode", 'R', true, func(o *Options, arg string) error {
		return choose(&o.HardText, textModes, arg, "unknown font-render-mode '%s'")
	}},
	{"graph-render-mode", 'G', true, func(o *Options, arg string) error {
		return choose(&o.HardEdges, edgeModes, arg, "unknown graph-render-mode '%s'")
	}},
	{"font-smoothing-threshold", 'B', true, ignored},
	{"watermark", 'W', true, func(o *Options, arg string) error {
		o.Watermark = cut(arg, 100)
		return nil
	}},
	{"pango-markup", 'P', false, on(func(o *Options) *bool { return &o.Markup })},
	{"daemon", 'd', true, text(func(o *Options) *string { return &o.Daemon })},
	{"interlaced", 'i', false, ignored},
	{"alt-y-mrtg", 0, false, ignored},
	{"use-nan-for-all-missing-data", 'Z', false, on(func(o *Options) *bool { return &o.MissingIsUnknown })},
	{"disable-rrdtool-tag", 0, false, on(func(o *Options) *bool { return &o.NoTag })},
	{"right-axis", 0, true, (*Options).setRightAxis},
	{"right-axis-label", 0, true, text(func(o *Options) *string { return &o.RightLabel })},
	{"right-axis-format", 0, true, text(func(o *Options) *string { return &o.Right.Format })},
	{"right-axis-formatter", 0, true, func(o *Options, arg string) error {
		return choose(&o.Right.Formatter, formatters, arg, "Unknown right axis formatter")
	}},
	{"left-axis-format", 0, true, text(func(o *Options) *string { return &o.Left.Format })},
	{"left-axis-formatter", 0, true, func(o *Options, arg string) error {
		return choose(&o.Left.Formatter, formatters, arg, "Unknown left axis formatter")
	}},
	{"legend-position", 0, true, func(o *Options, arg string) error {
		return choose(&o.LegendPosition, positions, arg, "unknown legend-position '%s'")
	}},
	{"legend-direction", 0, true, func(o *Options, arg string) error {
		return choose(&o.LegendDirection, directions, arg, "unknown legend-position '%s'")
	}},
	{"border", 0, true, func(o *Options, arg string) error {
		o.Border = min(max(atoi(arg), 0), MaxSide)
		return nil
	}},
	{"grid-dash", 0, true, (*Options).setGridDash},
	{"dynamic-labels", 0, false, on(func(o *Options) *bool { return &o.Dynamic })},
	{"week-fmt", 0, true, text(func(o *Options) *string { return &o.WeekFormat })},
	{"graph-type", 0, true, func(o *Options, arg string) error {
		return choose(&o.XY, graphTypes, arg, "unsupported graphics type '%s'")
	}},
	{"utc", 0, false, on(func(o *Options) *bool { return &o.UTC })},
	{"add-jsontime", 0, false, on(func(o *Options) *bool { return &o.AddData })},
}

// on sets a switch.
func on(of func(o *Options) *bool) func(o *Options, arg string) error {
	return func(o *Options, _ string) error { *of(o) = true; return nil }
}

// text takes any text.
func text(of func(o *Options) *string) func(o *Options, arg string) error {
	return func(o *Options, arg string) error { *of(o) = cut(arg, maxText); return nil }
}

// ignored takes an option that rrdtool ignores.
func ignored(*Options, string) error { return nil }

// side takes a width or a height.
func side(n *int, arg, name string) error {
	switch *n = atoi(arg); {
	case *n < 10:
		return fmt.Errorf("%s below 10 pixels", name)
	case *n > MaxSide:
		return fmt.Errorf("%s above %d pixels", name, MaxSide)
	}
	return nil
}

// strict takes a number that nothing may follow.
func strict(v *float64, arg string, option byte) (err error) {
	if *v, err = rra.ParseNumber(arg); err != nil {
		return fmt.Errorf("option -%c - %w", option, err)
	}
	return nil
}

func (o *Options) setZoom(arg string) error {
	if err := strict(&o.Zoom, arg, 'm'); err != nil {
		return err
	}
	if o.Zoom <= 0 {
		return errors.New("zoom factor must be > 0")
	}
	return nil
}

func (o *Options) setBase(arg string) error {
	if o.Base = atoi(arg); o.Base != 1000 && o.Base != 1024 {
		return errors.New("the only sensible value for base apart from 1000 is 1024")
	}
	return nil
}

func (o *Options) setUnits(arg string) error {
	switch {
	case o.SI:
		return errors.New("--units can only be used once!")
	case arg != "si":
		return fmt.Errorf("invalid argument for --units: %s", arg)
	}
	o.SI = true
	return nil
}

// CheckImageInfo returns an error if the format of --imginfo is wrong. It is a method of its own
// because rrdtool looks at the format only when the picture is drawn.
func (o *Options) CheckImageInfo() error {
	if o.ImageInfo != "" && imageInfoParts(o.ImageInfo) == nil {
		return fmt.Errorf("invalid format string '%s' (should match '^(?:[^%%]+|%%%%)*%%s(?:[^%%]+|%%%%)*%%lu(?:[^%%]+|%%%%)*%%lu(?:[^%%]+|%%%%)*$')", o.ImageInfo)
	}
	return nil
}

func (o *Options) setFormat(arg string) error {
	switch f := Data(arg); f {
	case XML, XMLENUM, JSON, JSONTIME, CSV, TSV, SSV:
		o.Data = f
		return nil
	}
	switch f := canvas.Format(arg); f {
	case canvas.PNG, canvas.SVG, canvas.EPS, canvas.PDF:
		o.Format, o.Data = f, ""
		return nil
	}
	return fmt.Errorf("unsupported graphics format '%s'", arg)
}

// choose takes one of some words. message is the error for another word.
func choose[T any](to *T, from map[string]T, arg, message string) error {
	v, ok := from[arg]
	if !ok {
		return errors.New(strings.Replace(message, "%s", arg, 1))
	}
	*to = v
	return nil
}

var (
	formatters = map[string]Formatter{"numeric": Numeric, "timestamp": Timestamp, "duration": Duration}
	positions  = map[string]Position{"north": North, "south": South, "west": West, "east": East}
	directions = map[string]Direction{"topdown": TopDown, "bottomup": BottomUp, "bottomup2": BottomUp2}
	textModes  = map[string]bool{"normal": false, "light": false, "mono": true}
	edgeModes  = map[string]bool{"normal": false, "mono": true}
	graphTypes = map[string]bool{"TIME": false, "XY": true}
)

// Finish ends the options: it works out the range of time, and looks at what depends on several of
// them. The error has rrdtool's words.
func (o *Options) Finish() (err error) {
	for _, a := range []AxisStyle{o.Left, o.Right} {
		if a.Format == "" || a.Formatter != Numeric {
			continue
		}
		if _, ok := graphdata.ParseCFormat(a.Format, false); !ok {
			return graphdata.BadFormat(a.Format, false)
		}
	}
	if o.Log && o.Min <= 0 {
		return errors.New("for a logarithmic yaxis you must specify a lower-limit > 0")
	}
	if o.Start, o.End, err = o.times.Resolve(); err != nil {
		return err
	}
	if o.UTC {
		o.Now = o.Now.In(time.UTC)
		o.times = attime.NewRange(o.Now)
	}
	if err := graphdata.CheckRange(o.Start, o.End); err != nil {
		return err
	}
	o.Step = min(max(o.Step, (o.End-o.Start)/int64(o.Width)), math.MaxInt32)
	return nil
}
