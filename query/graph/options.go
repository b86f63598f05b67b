package graph

import (
	"image/color"
	"math"
	"time"

	"github.com/rondo-db/rondo/query/graph/canvas"
	"github.com/rondo-db/rondo/query/graphdata"
	"github.com/rondo-db/rondo/query/rrd/attime"
)

// A Tag is a kind of text that has a font of its own.
type Tag uint8

// The kinds of texts.
const (
	Default Tag = iota
	Title
	Axis
	Unit
	Legend
	Watermark
	tags
)

var tagNames = [tags]string{"DEFAULT", "TITLE", "AXIS", "UNIT", "LEGEND", "WATERMARK"}

// A Part is what has a colour of its own.
type Part uint8

// The parts of a graph that have colours.
const (
	Canvas Part = iota
	Back
	ShadeA
	ShadeB
	Grid
	MajorGrid
	FontColor
	Arrow
	AxisColor
	Frame
	parts
)

var partNames = [parts]string{"CANVAS", "BACK", "SHADEA", "SHADEB", "GRID", "MGRID", "FONT", "ARROW", "AXIS", "FRAME"}

// A Position is the side on which the legend stands.
type Position uint8

// The sides.
const (
	South Position = iota
	North
	West
	East
)

// A Direction is the order of the lines of a legend.
type Direction uint8

// The orders: BottomUp turns all lines round, BottomUp2 those from the first to the last item that
// is no COMMENT.
const (
	TopDown Direction = iota
	BottomUp
	BottomUp2
)

// A Formatter says what the numbers of an axis are.
type Formatter uint8

// What numbers are: as they stand, seconds since 1970, or milliseconds.
const (
	Numeric Formatter = iota
	Timestamp
	Duration
)

// An AxisStyle is how the numbers of an axis are written.
type AxisStyle struct {
	Formatter Formatter
	Format    string // empty: the usual one
}

// A Data format has numbers instead of a picture.
type Data string

// The data formats.
const (
	XML      Data = "XML"
	XMLENUM  Data = "XMLENUM"
	JSON     Data = "JSON"
	JSONTIME Data = "JSONTIME"
	CSV      Data = "CSV"
	TSV      Data = "TSV"
	SSV      Data = "SSV"
)

// Options are what the options of a graph say. NewOptions makes them.
type Options struct {
	Now       time.Time // the present, and the time zone
	Names     *graphdata.Names
	Point     graphdata.Point // of numbers in the picture
	WeekStart time.Weekday    // the first day of weeks on the x axis

	times      *attime.Range
	Start, End int64 // seconds since 1970, after Finish
	Step       int64 // seconds
	UTC        bool

	Width, Height int // pixels, of the graph, or of the picture with FullSize
	FullSize      bool
	OnlyGraph     bool
	Zoom          float64
	Format        canvas.Format
	Data          Data // empty: a picture
	AddData       bool // the columns as JSONTIME, to what graphv says

	Min, Max                    float64 // NaN: not given
	Rigid, AllowShrink, Log     bool
	AltAuto, AltAutoMin         bool
	AltAutoMax, AltYGrid        bool
	Base                        int
	UnitsExponent, UnitsLength  int
	HasExponent, HasUnitsLength bool
	SI                          bool // --units=si

	NoXGrid, NoYGrid bool
	XGrid            *XGrid // given by --x-grid
	YStep            float64
	YFactor          int // YStep is given if it is not 0
	NoMinor          bool
	GridDash         [2]float64
	WeekFormat       string

	Left, Right           AxisStyle
	HasRight              bool
	RightScale, RightBase float64 // the right axis shows value*RightScale+RightBase
	VerticalLabel         string
	RightLabel            string
	Title, Watermark      string
	NoTag                 bool // no word about the program at the right edge
	Markup                bool

	NoLegend, ForceRules bool
	LegendPosition       Position
	LegendDirection      Direction
	Dynamic              bool
	TabWidth             float64

	Slope, NoGridFit, HardEdges, HardText bool
	Border                                int
	Fonts                                 [tags]canvas.Font
	Colors                                [parts]color.NRGBA

	XY        bool // asks for an XY diagram, which rrdtool refuses
	Lazy      bool
	ImageInfo string
	Daemon    string
	// MissingIsUnknown says that series which cannot be read are unknown throughout.
	MissingIsUnknown bool

	Work int // bounds the work of CDEFs, as in graphdata.Options
}

// The limits of a graph.
const (
	// MaxSide is the greatest width and height that can be asked for, in pixels.
	MaxSide = 16384
	// MaxElements is how many lines a graph may have.
	MaxElements = 4096
	// maxFont is the largest font, in points.
	maxFont = 200
	// maxText is how much of a title, a label or a watermark is kept, in bytes.
	maxText = 4096
)

func gray(v float64) color.NRGBA { return shade(v, v, v, 1) }

func shade(r, g, b, a float64) color.NRGBA {
	eight := func(v float64) uint8 { return uint8(min(v*256, 255)) } // as cairo cuts it
	return color.NRGBA{R: eight(r), G: eight(g), B: eight(b), A: eight(a)}
}

// NewOptions returns the options of a graph for which none is given. Its range is the last day.
func NewOptions(now time.Time) *Options {
	o := &Options{
		Now: now, Width: 400, Height: 100, Zoom: 1, Format: canvas.PNG, Min: math.NaN(), Max: math.NaN(), Base: 1000, UnitsLength: 6,
		GridDash: [2]float64{1, 1}, WeekFormat: "Week %V", RightScale: 1, TabWidth: 40, Border: 2,
	}
	for i, size := range [tags]float64{8, 9, 7, 8, 8, 5.5} {
		o.Fonts[i].Size = size
	}
	o.Colors = [parts]color.NRGBA{
		Canvas: gray(1), Back: gray(.95), ShadeA: gray(.81), ShadeB: gray(.62), Grid: shade(.56, .56, .56, .75),
		MajorGrid: shade(.87, .31, .31, .60), FontColor: gray(0), Arrow: shade(.5, .12, .12, 1), AxisColor: gray(.12), Frame: gray(0),
	}
	o.times = attime.NewRange(now)
	return o
}

func cut(text string, n int) string { return text[:min(len(text), n)] }

// An Interval is a unit of time on the x axis.
type Interval uint8

// The units of time.
const (
	Second Interval = iota
	Minute
	Hour
	Day
	Week
	Month
	Year
)

var unitNames = map[string]Interval{
	"SECOND": Second, "MINUTE": Minute, "HOUR": Hour, "DAY": Day, "WEEK": Week, "MONTH": Month, "YEAR": Year,
}

// An Every is a number of units of time.
type Every struct {
	Unit  Interval
	Count int
}

// An XGrid says where the lines and the labels of the x axis stand.
type XGrid struct {
	Grid, Major, Label Every
	Span               int64  // seconds that a label stands for: it is centred over them
	Format             string // of strftime
}
