package rrdtoolbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A graph is what is drawn, without its range of time.
type graph struct {
	name  string
	words []string
}

// graphs are the graphs that are drawn: 400 x 100 pixels of a year of hourly rows.
var graphs = []graph{
	{"three series", drawing(3, "LINE1:s%02d#%s:if%02d")},
	{"three series, slope mode", append([]string{"--slope-mode"}, drawing(3, "LINE1:s%02d#%s:if%02d")...)},
	{"twenty stacked areas", drawing(sources, "AREA:s%02d#%s:if%02d:STACK")},
}

// drawing returns the words of a graph of n series. line gets the number of the series, its colour
// and the number again.
func drawing(n int, line string) []string {
	words := []string{"--width", "400", "--height", "100", "--title", "Traffic", "--vertical-label", "bytes/s", "--lower-limit", "0"}
	for i := range n {
		words = append(words, fmt.Sprintf("DEF:s%02d=%s.rrd:value:AVERAGE", i, sourceName(i)),
			fmt.Sprintf(line, i, fmt.Sprintf("%02x%02x%02x", i*97%256, 200-i*9, i*151%256), i))
		for _, f := range []string{"AVERAGE", "MAX", "LAST"} {
			words = append(words, fmt.Sprintf("GPRINT:s%02d:%s:%s=%%6.2lf%%s", i, f, strings.ToLower(f)))
		}
	}
	return words
}

const (
	sources = 20 // series of the database
	hour    = 3600
	hours   = 365*24 + maxPictures + 10 // rows of each series
)

func sourceName(i int) string { return fmt.Sprintf("net/if%02d", i) }

// args returns the words of a picture: a year that ends some hours before the last row.
func (g graph) args(format string, ago int) []string {
	end := epoch/hour*hour + int64(hours-ago)*hour
	return append([]string{
		"--imgformat", strings.ToUpper(format), "--start", strconv.FormatInt(end-365*24*hour, 10), "--end", strconv.FormatInt(end, 10),
	}, g.words...)
}

// checkPicture returns an error if data are not a picture of the format.
func checkPicture(format string, data []byte) error {
	begins, ends := "<?xml", "</svg>"
	if format == "png" {
		begins, ends = "\x89PNG", "IEND\xaeB`\x82"
	}
	if !bytes.HasPrefix(data, []byte(begins)) || !bytes.HasSuffix(bytes.TrimRight(data, "\n"), []byte(ends)) {
		return fmt.Errorf("%d bytes are no picture: %.100q", len(data), data)
	}
	return nil
}

// The folders of the data: native files, and databases with the same series. Each program that
// keeps a database open has one of its own.
const (
	filesFolder   = "files"
	pipeFolder    = "pipe"
	serverFolder  = "server"
	oneShotFolder = "oneshot"
)

// prepare makes the data: one database from lines of updates, its copies, and its series as native
// files.
func (c *GraphConfig) prepare(ctx context.Context) error {
	first := filepath.Join(c.Dir, pipeFolder)
	for _, name := range []string{filesFolder, pipeFolder} {
		if err := os.MkdirAll(filepath.Join(c.Dir, name), 0o700); err != nil {
			return err
		}
	}
	p, err := start(ctx, first, []string{c.Rondo, "--sync", "none", "rrdtool", "-"})
	if err != nil {
		return err
	}
	text, n := sourceLines()
	_, err = p.pipelined(text, n)
	if err = errors.Join(err, p.end()); err != nil {
		return err
	}
	export := command(ctx, first, []string{c.Rondo, "export", "--to", filepath.Join(c.Dir, filesFolder)})
	if out, err := export.CombinedOutput(); err != nil {
		return fmt.Errorf("export: %w: %s", err, out)
	}
	for _, name := range []string{serverFolder, oneShotFolder} {
		if err := os.CopyFS(filepath.Join(c.Dir, name), os.DirFS(first)); err != nil {
			return err
		}
	}
	return nil
}

// sourceLines returns the lines of pipe mode that make the series and fill them, and how many
// answers they have.
func sourceLines() (text []byte, n int) {
	const start, most = epoch / hour * hour, 500
	for i := range sources {
		text = fmt.Appendf(text, "create %s --start %d --step %d DS:value:GAUGE:%d:U:U RRA:AVERAGE:0.5:1:%d RRA:AVERAGE:0.5:24:800 RRA:MAX:0.5:24:800\n",
			sourceName(i), start, hour, 2*hour, hours)
		n++
		for h := 0; h < hours; {
			text = fmt.Appendf(text, "update %s", sourceName(i))
			for range min(most, hours-h) {
				h++
				text = fmt.Appendf(text, " %d:%d", start+int64(h)*hour, 1000*(i+2)+h%24*50*i+h*7919%1000*(i%5+1))
			}
			text = append(text, '\n')
			n++
		}
	}
	return text, n
}
