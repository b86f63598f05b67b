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
	if set, ok := switches[name]; ok {
		set(o)
		return nil
	}
	if set, ok := texts[name]; ok {
		set(o, cut(arg, maxText))
		return nil
	}
	if set, ok := settings[name]; ok {
		return set(o, arg)
	}
	return fmt.Errorf("unknown option '%s'", name)
}

var switches = map[string]func(o *Options){
	"full-size-mode":               func(o *Options) { o.FullSize = true },
	"rigid":                        func(o *Options) { o.Rigid = true },
	"allow-shrink":                 func(o *Options) { o.AllowShrink = true },
	"logarithmic":                  func(o *Options) { o.Log = true },
	"lazy":                         func(o *Options) { o.Lazy = true },
	"no-legend":                    func(o *Options) { o.NoLegend = true },
	"force-rules-legend":           func(o *Options) { o.ForceRules = true },
	"only-graph":                   func(o *Options) { o.OnlyGraph = true },
	"alt-y-grid":                   func(o *Options) { o.AltYGrid = true },
	"no-minor":                     func(o *Options) { o.NoMinor = true },
	"slope-mode":                   func(o *Options) { o.Slope = true },
	"alt-autoscale":                func(o *Options) { o.AltAuto = true },
	"alt-autoscale-min":            func(o *Options) { o.AltAutoMin = true },
	"alt-autoscale-max":            func(o *Options) { o.AltAutoMax = true },
	"no-gridfit":                   func(o *Options) { o.NoGridFit = true },
	"pango-markup":                 func(o *Options) { o.Markup = true },
	"use-nan-for-all-missing-data": func(o *Options) { o.MissingIsUnknown = true },
	"disable-rrdtool-tag":          func(o *Options) { o.NoTag = true },
	"dynamic-labels":               func(o *Options) { o.Dynamic = true },
	"utc":                          func(o *Options) { o.UTC = true },
	"add-jsontime":                 func(o *Options) { o.AddData = true },
	"interlaced":                   func(*Options) {},
	"alt-y-mrtg":                   func(*Options) {},
}

// texts are options that take any text. Where one is a number, rrdtool ignores what follows it.
var texts = map[string]func(o *Options, arg string){
	"vertical-label":           func(o *Options, arg string) { o.VerticalLabel = arg },
	"right-axis-label":         func(o *Options, arg string) { o.RightLabel = arg },
	"title":                    func(o *Options, arg string) { o.Title = arg },
	"watermark":                func(o *Options, arg string) { o.Watermark = cut(arg, 100) },
	"imginfo":                  func(o *Options, arg string) { o.ImageInfo = arg },
	"week-fmt":                 func(o *Options, arg string) { o.WeekFormat = arg },
	"daemon":                   func(o *Options, arg string) { o.Daemon = arg },
	"left-axis-format":         func(o *Options, arg string) { o.Left.Format = arg },
	"right-axis-format":        func(o *Options, arg string) { o.Right.Format = arg },
	"font-smoothing-threshold": func(*Options, string) {},
	"border":                   func(o *Options, arg string) { o.Border = min(max(atoi(arg), 0), MaxSide) },
	"step":                     func(o *Options, arg string) { o.Step = int64(atoi(arg)) },
	"units-exponent":           func(o *Options, arg string) { o.UnitsExponent, o.HasExponent = atoi(arg), true },
	"units-length": func(o *Options, arg string) {
		o.UnitsLength, o.HasUnitsLength = min(max(atoi(arg), -MaxSide), MaxSide), true
	},
}

var settings = map[string]func(o *Options, arg string) error{
	"start":       func(o *Options, arg string) error { return o.setTime(&o.start, arg, "start") },
	"end":         func(o *Options, arg string) error { return o.setTime(&o.end, arg, "end") },
	"x-grid":      (*Options).setXGrid,
	"y-grid":      (*Options).setYGrid,
	"width":       func(o *Options, arg string) error { return side(&o.Width, arg, "width") },
	"height":      func(o *Options, arg string) error { return side(&o.Height, arg, "height") },
	"upper-limit": func(o *Options, arg string) error { return strict(&o.Max, arg, 'u') },
	"lower-limit": func(o *Options, arg string) error { return strict(&o.Min, arg, 'l') },
	"tabwidth":    func(o *Options, arg string) error { return strict(&o.TabWidth, arg, 'T') },
	"zoom":        (*Options).setZoom,
	"base":        (*Options).setBase,
	"color":       (*Options).setColor,
	"font":        (*Options).setFont,
	"imgformat":   (*Options).setFormat,
	"units":       (*Options).setUnits,
	"right-axis":  (*Options).setRightAxis,
	"left-axis-formatter": func(o *Options, arg string) error {
		return choose(&o.Left.Formatter, formatters, arg, "Unknown left axis formatter")
	},
	"right-axis-formatter": func(o *Options, arg string) error {
		return choose(&o.Right.Formatter, formatters, arg, "Unknown right axis formatter")
	},
	"legend-position": func(o *Options, arg string) error {
		return choose(&o.LegendPosition, positions, arg, "unknown legend-position '%s'")
	},
	"legend-direction": func(o *Options, arg string) error {
		return choose(&o.LegendDirection, directions, arg, "unknown legend-position '%s'")
	},
	"grid-dash": (*Options).setGridDash,
	"font-render-mode": func(o *Options, arg string) error {
		return choose(&o.HardText, textModes, arg, "unknown font-render-mode '%s'")
	},
	"graph-render-mode": func(o *Options, arg string) error {
		return choose(&o.HardEdges, edgeModes, arg, "unknown graph-render-mode '%s'")
	},
	"graph-type": func(o *Options, arg string) error {
		return choose(&o.XY, graphTypes, arg, "unsupported graphics type '%s'")
	},
}

func (o *Options) setTime(t *attime.Time, arg, name string) (err error) {
	if *t, err = o.times.Parse(arg); err != nil {
		return fmt.Errorf("%s time: %w", name, err)
	}
	return nil
}

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

var pictureFormats = map[string]canvas.Format{"PNG": canvas.PNG, "SVG": canvas.SVG, "EPS": canvas.EPS, "PDF": canvas.PDF}

func (o *Options) setFormat(arg string) error {
	switch f := Data(arg); f {
	case XML, XMLENUM, JSON, JSONTIME, CSV, TSV, SSV:
		o.Data = f
		return nil
	}
	f, ok := pictureFormats[arg]
	if !ok {
		return fmt.Errorf("unsupported graphics format '%s'", arg)
	}
	o.Format, o.Data = f, ""
	return nil
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
	if o.Start, o.End, err = o.times.Resolve(o.start, o.end); err != nil {
		return err
	}
	if o.UTC {
		o.Now = o.Now.In(time.UTC)
		o.times = attime.NewReader(o.Now)
	}
	if err := graphdata.CheckRange(o.Start, o.End); err != nil {
		return err
	}
	o.Step = min(max(o.Step, (o.End-o.Start)/int64(o.Width)), math.MaxInt32)
	return nil
}
