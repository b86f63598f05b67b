package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/graph"
	"github.com/rondo-db/rondo/query/graph/canvas"
	"github.com/rondo-db/rondo/query/graphdata"
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

// A sources finds the series that DEF lines name.
type sources struct{ *command }

// Open finds the series that a DEF names.
func (s *sources) Open(_ context.Context, name, daemon string) (query.Store, core.Ref, error) {
	c := *s.command
	if err := c.daemon(daemon); err != nil {
		return nil, 0, err
	}
	ref, err := c.native(name)
	return c.Store, ref, err
}

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
