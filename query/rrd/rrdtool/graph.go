package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/query/graph"
	"github.com/rondo-db/rondo/query/graph/canvas"
	"github.com/rondo-db/rondo/query/graphdata"
	"github.com/rondo-db/rondo/query/rrd/numeral"
)

const graphUsage = `FILE [OPTIONS] LINE…
  FILE is the picture; - is standard output.
  -s, --start TIME; -e, --end TIME; -S, --step SECONDS     what is shown (the last day)
  -w, --width PIXELS; -h, --height PIXELS; -D, --full-size-mode; -j, --only-graph; -m, --zoom FACTOR
  -a, --imgformat PNG|SVG|PDF|EPS|XML|XMLENUM|JSON|JSONTIME|CSV|TSV|SSV; --add-jsontime
  -l, --lower-limit VALUE; -u, --upper-limit VALUE; -r, --rigid; --allow-shrink; -o, --logarithmic
  -A, --alt-autoscale; -J, --alt-autoscale-min; -M, --alt-autoscale-max; -b, --base 1000|1024
  -X, --units-exponent N; -L, --units-length N; --units=si
  -x, --x-grid GRID; -y, --y-grid STEP:FACTOR; -Y, --alt-y-grid; -I, --no-minor; --grid-dash ON:OFF; --week-fmt FORMAT; --utc
  --left-axis-format FORMAT; --left-axis-formatter numeric|timestamp|duration
  --right-axis SCALE:SHIFT; --right-axis-label TEXT; --right-axis-format FORMAT; --right-axis-formatter …
  -t, --title TEXT; -v, --vertical-label TEXT; -W, --watermark TEXT; --disable-rrdtool-tag; -P, --pango-markup
  -g, --no-legend; -F, --force-rules-legend; --legend-position north|south|west|east
      --legend-direction topdown|bottomup|bottomup2; --dynamic-labels; -T, --tabwidth PIXELS
  -c, --color PART#RRGGBB[AA]; -n, --font TAG:SIZE[:FAMILY]; --border PIXELS; -E, --slope-mode; -N, --no-gridfit
  -R, --font-render-mode normal|light|mono; -G, --graph-render-mode normal|mono
  -z, --lazy; -f, --imginfo FORMAT; -Z, --use-nan-for-all-missing-data; -d, --daemon ADDRESS
  LINE: DEF:NAME=SERIES:DS:CF[:step=SECONDS][:start=TIME][:end=TIME][:reduce=CF][:daemon=ADDRESS]
        CDEF:NAME=EXPRESSION, VDEF:NAME=VARIABLE,FUNCTION, SHIFT:NAME:SECONDS
        LINE[WIDTH]:VALUE[#COLOR][:LEGEND][:STACK][:skipscale][:dashes[=ON,OFF…]][:dash-offset=N]
        AREA:VALUE[#COLOR[#COLOR]][:LEGEND][:STACK][:skipscale][:gradheight=N]
        TICK:VALUE#COLOR:FRACTION[:LEGEND], HRULE:VALUE#COLOR[:LEGEND], VRULE:TIME#COLOR[:LEGEND]
        PRINT:VDEF:FORMAT[:strftime|valstrftime|valstrfduration], GPRINT, COMMENT:TEXT, TEXTALIGN:WHERE`

var graphOptions = func() []option {
	var options []option
	for _, f := range graph.Flags {
		options = append(options, option{f.Long, f.Short, f.Argument})
	}
	return options
}()

// A drawing is one run of graph or graphv.
type drawing struct {
	*command
	*graph.Graph
	file   string
	memory bool // the picture goes to standard output
	size   [2]int
	layout *graph.Layout
	most   Most     // of the picture; without a bound: as much as a canvas has
	info   []string // lines of graphv
	image  []byte   // for standard output
	points []byte   // of --add-jsontime
	plain  imageInfo
}

// graph draws a graph and prints its size and what PRINT lines print.
func (c *command) graph(args []string) error {
	d, err := c.draw(args)
	if d == nil || len(d.info) == 0 && d.image == nil && d.plain.format == "" {
		return err
	}
	_, _ = c.out.Write(d.image) // as printf
	if args[0] == "-" {
		return err
	}
	if !slices.Contains(args[1:], "-f") && !slices.Contains(args[1:], "--imginfo") {
		c.printf("%dx%d\n", d.size[0], d.size[1])
	}
	if text := d.imageInfo(); text != "" {
		c.printf("%s\n", text)
	}
	for _, text := range d.Prints {
		c.printf("%s\n", text)
	}
	return err
}

// graphv draws a graph and prints its numbers.
func (c *command) graphv(args []string) error {
	d, err := c.draw(args)
	if d == nil {
		return err
	}
	for _, line := range d.info {
		c.printf("%s\n", line)
	}
	if text := d.imageInfo(); text != "" {
		c.printf("image_info = \"%s\"\n", c.escaped(text))
	}
	if d.image != nil {
		c.printf("image = BLOB_SIZE:%d\n", len(d.image))
		_, _ = c.out.Write(d.image) // as printf
	}
	if d.points != nil {
		c.printf("datapoints = BLOB_SIZE:%d\n", len(d.points))
		_, _ = c.out.Write(d.points) // as printf
	}
	return err
}

// draw draws a graph. An error behind which something is to be printed all the same comes with the
// drawing.
func (c *command) draw(args []string) (*drawing, error) {
	o, lines, err := c.options(args, nil)
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return nil, errors.New("missing filename")
	}
	file, lines := lines[0], lines[1:]
	d := &drawing{command: c, file: file, memory: file == "-"}
	if d.Graph, err = graph.New(o, lines); err != nil {
		return nil, err
	}
	if err := c.daemon(o.Daemon); err != nil {
		return nil, err
	}
	source := &sources{c}
	if o.Data != "" {
		err = d.export(source)
	} else {
		err = d.picture(source)
	}
	if err == nil && o.AddData && d.layout != nil {
		err = d.addData(source, lines)
	}
	if e := o.CheckImageInfo(); e != nil && (err == nil || d.layout != nil) {
		return nil, e
	}
	return d, err
}

// picture draws a picture. Where there is nothing to print behind an error, info is empty.
func (d *drawing) picture(source graphdata.Source) (err error) {
	o := d.Options
	fresh := o.Lazy && d.fresh()
	if err := d.Run(d.ctx, source); err != nil {
		return err
	}
	d.prints()
	d.plain = imageInfo{format: o.ImageInfo}
	if !d.Drawn {
		return nil
	}
	if d.layout, err = d.Layout(); err != nil {
		d.info, d.plain = nil, imageInfo{}
		return err
	}
	l := d.layout
	d.size = [2]int{l.ImageWidth, l.ImageHeight}
	d.plain = imageInfo{o.ImageInfo, int(float64(l.ImageWidth) * o.Zoom), int(float64(l.ImageHeight) * o.Zoom)}
	d.places()
	if fresh {
		return nil
	}
	if n := float64(l.ImageWidth) * float64(l.ImageHeight) * o.Zoom * o.Zoom; d.most.Pixels > 0 && n > float64(d.most.Pixels) {
		return &SizeError{Pixels: n, Most: float64(d.most.Pixels)}
	}
	picture, err := canvas.New(o.Format, float64(l.ImageWidth), float64(l.ImageHeight), o.Zoom, o.Canvas())
	if err != nil {
		d.info, d.plain = nil, imageInfo{}
		return err
	}
	l.Measure()
	d.values()
	tooLong := func() bool { return d.most.Bytes > 0 && picture.Len() > d.most.Bytes }
	l.Draw(picture, func() bool { return d.ctx.Err() != nil || tooLong() })
	if err := d.ctx.Err(); err != nil {
		return err
	}
	if tooLong() {
		return &SizeError{Bytes: d.most.Bytes}
	}
	if err := d.write(picture.Encode); err != nil {
		return err
	}
	return l.Failed
}

var errTooLarge = fmt.Errorf("the data are more than %d MiB", maxExported>>20)

func (d *drawing) infof(format string, args ...any) {
	d.info = append(d.info, fmt.Sprintf(format, args...))
}

// prints are the texts of PRINT lines.
func (d *drawing) prints() {
	for i, text := range d.Prints {
		d.infof("print[%d] = \"%s\"", i, d.escaped(text))
	}
}

// escaped is a text in quotes: for a program it is one line.
func (c *command) escaped(text string) string {
	if c.exact {
		return oneLine.Replace(text)
	}
	return text
}

// double returns a number that is no integer as text, for a program with all its digits.
func (c *command) double(v float64) string {
	if c.exact {
		return string(appendExact(nil, v))
	}
	return string(c.locale.local(fmt.Appendf(nil, "%0.10e", v), 0))
}

// places are the numbers that are known before anything is measured.
func (d *drawing) places() {
	l, o := d.layout, d.Options
	d.infof("graph_left = %d", uint64(int64(l.Left))) // less than nothing is very much to rrdtool
	d.infof("graph_top = %d", uint64(int64(l.Top)))
	d.infof("graph_width = %d", l.Width)
	d.infof("graph_height = %d", l.Height)
	d.infof("image_width = %d", uint64(l.ImageWidth))
	d.infof("image_height = %d", uint64(l.ImageHeight))
	d.infof("graph_start = %d", o.Start)
	d.infof("graph_end = %d", o.End)
}

// values are the limits and the legend.
func (d *drawing) values() {
	l := d.layout
	d.infof("value_min = %s", d.double(l.Min))
	d.infof("value_max = %s", d.double(l.Max))
	for i, it := range l.Legend {
		d.infof("legend[%d] = \"%s\"", i, d.escaped(it.Text))
		d.infof("coords[%d] = \"%.0f,%.0f,%.0f,%.0f\"", i, it.Left, it.Top, it.Left+l.Drawn(it), it.Bottom)
	}
}

// An imageInfo is what --imginfo says, and the size of the picture after zoom.
type imageInfo struct {
	format        string
	width, height int
}

// imageInfo is what --imginfo prints; empty without it.
func (d *drawing) imageInfo() string {
	if d.plain.format == "" {
		return ""
	}
	name := path.Base(d.file)
	if d.memory {
		name = "memory"
	} else if strings.HasSuffix(d.file, "/") {
		name = ""
	}
	return graph.ImageInfo(d.plain.format, name, d.plain.width, d.plain.height)
}

// fresh reports whether the picture is there and no older than a column of the graph.
func (d *drawing) fresh() bool {
	o := d.Options
	if d.memory || d.Files == nil {
		return false
	}
	info, err := d.Files.Stat(d.file)
	if err != nil || d.Now().Unix()-info.ModTime().Unix() > (o.End-o.Start)/int64(o.Width) {
		return false
	}
	if o.Format != canvas.PNG {
		return true
	}
	f, err := d.Files.Open(d.file)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it is only read
	head := make([]byte, len(pngHead))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == pngHead
}

const pngHead = "\x89PNG\r\n\x1a\n"

// write writes a picture to where it belongs.
func (d *drawing) write(encode func(io.Writer) error) error {
	if d.memory {
		var b bytes.Buffer
		if err := encode(&b); err != nil {
			return err
		}
		d.image = b.Bytes()
		return nil
	}
	if d.Files == nil {
		return errNoFiles
	}
	f, err := d.Files.Create(d.file)
	if err != nil {
		return fmt.Errorf("Could not save png to '%s'", d.file)
	}
	return errors.Join(encode(f), f.Close())
}

// maxExported bounds what a data format may have, in bytes.
const maxExported = 256 << 20

// export writes the columns of a graph in one of the data formats.
func (d *drawing) export(source graphdata.Source) error {
	d.Program.ExportDrawn()
	if err := d.Program.Run(d.ctx, source); err != nil {
		return err
	}
	if len(d.Program.Exports()) == 0 {
		if err := d.Print(); errors.Is(err, graph.ErrStack) {
			return err
		}
		return errNoExport
	}
	g := d.Program.Grid()
	d.infof("graph_start = %d", g.Start)
	d.infof("graph_end = %d", g.End)
	d.infof("graph_step = %d", g.Step)
	var b bytes.Buffer
	if err := d.exportTo(&b); err != nil {
		d.info = nil
		return err
	}
	if err := d.write(func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err }); err != nil {
		d.info, d.image = nil, nil
		return err
	}
	if err := d.Print(); err != nil {
		d.info, d.image = nil, nil
		return err
	}
	d.prints()
	d.plain = imageInfo{format: d.Options.ImageInfo}
	return nil
}

// addData takes the columns of a picture as JSON with times.
func (d *drawing) addData(source graphdata.Source, lines []string) error {
	o := *d.Options
	o.Data = graph.JSONTIME
	g, err := graph.New(&o, lines)
	if err != nil {
		return err
	}
	g.Program.ExportDrawn()
	if err := g.Program.Run(d.ctx, source); err != nil || len(g.Program.Exports()) == 0 {
		return err
	}
	var b bytes.Buffer
	if err := (&drawing{command: d.command, Graph: g}).exportTo(&b); err != nil {
		return err
	}
	d.points = b.Bytes()
	return nil
}

func (d *drawing) exportTo(b *bytes.Buffer) error {
	c := *d.command
	c.out = bufio.NewWriter(&limited{to: b, left: maxExported})
	x := &xporting{command: &c, program: d.Program, graph: true, time: true, base: d.Options.Base, when: d.Options.TimeFormat()}
	var err error
	switch f := d.Options.Data; f {
	case graph.XML, graph.XMLENUM:
		x.num = f == graph.XMLENUM
		err = x.printXML()
	case graph.JSON, graph.JSONTIME:
		x.time = f == graph.JSONTIME
		err = x.printJSON()
	case graph.TSV:
		x.printTable('\t')
	case graph.SSV:
		x.printTable(';')
	default:
		x.printTable(',')
	}
	if e := c.out.Flush(); err == nil {
		err = e
	}
	return err
}

// printTable prints a line of legends, and a line a row that begins with its time. Lines end as in
// DOS.
func (x *xporting) printTable(separator byte) {
	x.printf("\"time\"")
	for _, e := range x.program.Exports() {
		x.printf("%c\"%s\"", separator, e.Legend)
	}
	x.printf("\r\n")
	x.rows(x.program.Grid(), func(line []byte, at int64, cursors []graphdata.Cursor) []byte {
		line = x.appendTime(line, at)
		for i := range cursors {
			line = append(numeral.Append(append(line, separator, '"'), cursors[i].At(at)), '"')
		}
		return append(line, "\r\n"...)
	})
}

// A limited is a writer that takes so many bytes.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, errTooLarge
	}
	return l.to.Write(b)
}

// A Sketch is a graph whose arguments have been read, and whose data have not.
type Sketch struct {
	drawing *drawing
	lines   int
}

// A Wish is what a program adds to the arguments of a graph.
type Wish struct {
	// Set may change the options after the arguments; nil changes nothing.
	Set func(o *graph.Options) error
	// Present returns the time for which the graph is drawn, by its options at the clock of the
	// Env; nil means that clock.
	Present func(o *graph.Options) time.Time
}

// NewSketch reads the arguments of graph, without the name of a file. env need not have a store:
// [Sketch.Draw] gets the series. The errors have rrdtool's words.
func NewSketch(env *Env, args []string, w Wish) (*Sketch, error) {
	c := &command{Env: env.withDefaults(), ctx: context.Background()}
	o, lines, err := c.options(args, w.Set)
	if err == nil && w.Present != nil {
		// Times that count from the present are read again. Lines, which cost more, are read once.
		at := w.Present(o)
		c.Now = func() time.Time { return at }
		o, lines, err = c.options(args, w.Set)
	}
	if err != nil {
		return nil, c.locale.localError(err)
	}
	d := &drawing{command: c, file: "-", memory: true}
	if d.Graph, err = graph.New(o, lines); err != nil {
		return nil, c.locale.localError(err)
	}
	return &Sketch{d, len(lines)}, nil
}

// options returns the options among the arguments of graph, in the locale, and the other
// arguments. set may be nil.
func (c *command) options(args []string, set func(o *graph.Options) error) (*graph.Options, []string, error) {
	o := graph.NewOptions(c.now())
	o.Names, o.WeekStart, o.Point = c.locale.names, c.locale.weekStart, graphdata.Point(c.locale.point)
	lines, err := parse(args, graphOptions, o.Set)
	if err == nil && set != nil {
		err = set(o)
	}
	if err == nil {
		err = o.Finish()
	}
	return o, lines, err
}

// Options are the options of the graph, with its range of time.
func (s *Sketch) Options() *graph.Options { return s.drawing.Options }

// Lines is how many lines the graph has.
func (s *Sketch) Lines() int { return s.lines }

// Names returns the names of the series that the graph reads, as its DEFs have them.
func (s *Sketch) Names() []string { return s.drawing.Program.Files() }

// Readings returns the rows that Draw will read, without reading them.
func (s *Sketch) Readings(ctx context.Context, source graphdata.Source) ([]graphdata.Reading, error) {
	return s.drawing.Program.Readings(ctx, source)
}

// ErrNothing says that a graph has no line that draws.
var ErrNothing = errors.New("the graph draws nothing: it has no LINE, AREA, TICK, HRULE or VRULE")

// A SizeError says that a picture would have too many pixels, or that its file would be too long.
type SizeError struct {
	Pixels, Most float64
	Bytes        int // the greatest length of the file; 0: the pixels are too many
}

func (e *SizeError) Error() string {
	if e.Bytes > 0 {
		return fmt.Sprintf("the picture would have more than %d bytes: draw less, or as PNG", e.Bytes)
	}
	return fmt.Sprintf("the picture would have %.0f pixels, more than %.0f", e.Pixels, e.Most)
}

// Most bounds a picture. 0 is no bound.
type Most struct {
	Pixels int
	Bytes  int // of the file, without fonts
}

// Draw fetches the data and returns the picture. It may be called once. The error is a [*SizeError]
// if the picture would be larger than most says, and ErrNothing if nothing would be on it. The end
// of ctx ends the drawing.
func (s *Sketch) Draw(ctx context.Context, source graphdata.Source, most Most) ([]byte, error) {
	d := s.drawing
	d.ctx, d.most = ctx, most
	err := d.picture(source)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, d.locale.localError(err)
	case d.image == nil:
		return nil, ErrNothing
	}
	return d.image, nil
}

// Columns fetches the data of the lines that draw or export, for those who want numbers instead of
// a picture. The program has run: its exports are the columns. The error is ErrNothing if there are
// none.
func (s *Sketch) Columns(ctx context.Context, source graphdata.Source) (*graphdata.Program, error) {
	p := s.drawing.Program
	p.ExportDrawn()
	if err := p.Run(ctx, source); err != nil {
		return nil, s.drawing.locale.localError(err)
	}
	if len(p.Exports()) == 0 {
		return nil, ErrNothing
	}
	return p, nil
}
