package rrdtool

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/rondo-db/rondo/query/graph"
	"github.com/rondo-db/rondo/query/graphdata"
	"github.com/rondo-db/rondo/query/rrd/numeral"
)

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
