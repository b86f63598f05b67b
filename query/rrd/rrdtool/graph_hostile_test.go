package rrdtool_test

import (
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGraphsOverLimits asks for too much: each is an error that says what is too much.
func TestGraphsOverLimits(t *testing.T) {
	draw, _ := graphed(t)
	many := make([]string, 10_000)
	for i := range many {
		many[i] = "LINE:1"
	}
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"100,000 pixels":        {[]string{"-w", "100000", "-h", "100000", "LINE:1"}, "width above 16384 pixels"},
		"zoomed":                {[]string{"-w", "16384", "-h", "16384", "LINE:1"}, "picture size: "},
		"10,000 lines":          {many, "a graph of 10000 elements: more than 4096"},
		"a name of itself":      {[]string{"DEF:a=a.rrd:x:AVERAGE", "CDEF:b=b,1,+", "LINE:b"}, "don't understand 'b': it is not known yet"},
		"a name of a later one": {[]string{"DEF:a=a.rrd:x:AVERAGE", "CDEF:b=c,1,+", "CDEF:c=b,1,+", "LINE:b"}, "don't understand 'c,1,+'"},
	} {
		t.Run(name, func(t *testing.T) {
			a := draw(append([]string{"graph", "o.png", "-s", "1200000060", "-e", "1200000360"}, tt.args...)...)
			if a.Exit != 1 || !strings.HasPrefix(a.Stderr, "ERROR: "+tt.want) || a.Stdout != "" {
				t.Errorf("%v, want %q", a, tt.want)
			}
		})
	}
}

// TestABillionPoints: what a graph reads follows from its width, however many seconds it shows.
func TestABillionPoints(t *testing.T) {
	draw, _ := graphed(t)
	a := draw("graph", "o.png", "-S", "1", "-s", "end-32y", "-e", "1420000000", "DEF:a=a.rrd:x:AVERAGE:step=1", "CDEF:b=a,1,+", "LINE:b", "PRINT:b:MAX:%.0lf")
	if a.Exit != 0 || a.Stdout != "481x141\n5\n" {
		t.Errorf("%v", a)
	}
}

// hostileText would be markup, script or the end of a comment.
const hostileText = `</text></svg><script>alert(1)</script><a href="javascript:x" onload='y'>&x;]]>--`

// TestNoMarkupFromTexts has hostile texts wherever a graph takes texts: SVG has no other elements
// and no other attributes than plain texts have.
func TestNoMarkupFromTexts(t *testing.T) {
	draw, folder := graphed(t)
	shape := func(text string, options ...string) (elements map[string]int) {
		t.Helper()
		args := append([]string{
			"graph", "o.svg", "-a", "SVG", "-s", "1200000060", "-e", "1200000360", "-t", text, "-v", text, "-W", text,
			"--right-axis", "1:0", "--right-axis-label", text, "-n", "DEFAULT:8:" + text, "-x", "MINUTE:1:MINUTE:1:MINUTE:1:0:" + text,
		}, options...)
		a := draw(append(args, "DEF:a=a.rrd:x:AVERAGE", "LINE:a#f00:"+strings.ReplaceAll(text, ":", `\:`), "COMMENT:"+strings.ReplaceAll(text, ":", `\:`))...)
		if a.Exit != 0 {
			t.Fatal(a)
		}
		f, err := os.Open(filepath.Join(folder, "o.svg"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }() // it is only read
		elements = map[string]int{}
		for d := xml.NewDecoder(f); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				return elements
			}
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := token.(xml.StartElement); ok {
				elements[e.Name.Local]++
				for _, attr := range e.Attr {
					elements["@"+attr.Name.Local]++
				}
			}
		}
	}
	for _, option := range []string{"--slope-mode", "--pango-markup"} {
		got := shape(hostileText, option)
		for name := range got {
			if shape("plain", option)[name] == 0 {
				t.Errorf("%s: %d of %s", option, got[name], name)
			}
		}
	}
}

// FuzzGraph draws a graph of any arguments: a picture or an error, and no more than its limits say.
func FuzzGraph(f *testing.F) {
	for _, seed := range []string{
		"-w\x00100\x00LINE:a#f00:x", "-o\x00-u\x001e300\x00AREA:a#f00#0f0:x:STACK:gradheight=5", "-x\x00SECOND:1:SECOND:1:SECOND:1:0:%c\x00-y\x001e-300:1\x00LINE:a",
		"-a\x00PDF\x00-P\x00-t\x00<b>x</b>\x00HRULE:5#f00:x:dashes=0.001", "-a\x00JSON\x00PRINT:a:MAX:%lf%S\x00LINE:a", "-D\x00-w\x0010\x00-h\x0010\x00-n\x00DEFAULT:200\x00LINE:a:x\\l",
		"-m\x000.01\x00LINE:a", "-m\x001e9\x00LINE:a", "-s\x00end-40y\x00-S\x001\x00LINE:a", "--left-axis-formatter\x00timestamp\x00-l\x00-1e300\x00LINE:a", "-a\x00SVG\x00COMMENT:\x01\x02\xff\\t\\t\\g", "SHIFT:a:1e18\x00CDEF:b=a,PREV,+\x00LINE:b",
	} {
		f.Add(seed)
	}
	me := &rondo{store: newMemory(), now: time.Unix(1200000400, 0), loc: time.UTC}
	for _, c := range []string{"create a.rrd -b 1200000000 -s 60 DS:x:GAUGE:120:U:U RRA:AVERAGE:0:1:50", "update a.rrd 1200000060:1 1200000120:2 1200000180:U 1200000240:9 1200000300:-5 1200000360:6"} {
		if a := me.run(strings.Fields(c)); a.Exit != 0 {
			f.Fatal(a)
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 2000 {
			return
		}
		args := append([]string{"graphv", "-", "-s", "1200000060", "-e", "1200000360", "-w", "50", "-h", "30", "DEF:a=a.rrd:x:AVERAGE"}, strings.Split(line, "\x00")...)
		a := me.draw(nowhere{}, args)
		if a.Exit < 0 || a.Exit > 1 || a.Exit == 1 && !strings.HasPrefix(a.Stderr, "ERROR: ") {
			t.Errorf("%q: exit code %d, %q", args, a.Exit, a.Stderr)
		}
		if len(a.Stdout) > 1<<26 {
			t.Errorf("%q: %d bytes", args, len(a.Stdout))
		}
	})
}

// nowhere has no files: what is written is lost.
type nowhere struct{}

func (nowhere) Stat(string) (fs.FileInfo, error)      { return nil, fs.ErrNotExist }
func (nowhere) Open(string) (io.ReadCloser, error)    { return nil, fs.ErrNotExist }
func (nowhere) Create(string) (io.WriteCloser, error) { return lost{io.Discard}, nil }

type lost struct{ io.Writer }

func (lost) Close() error { return nil }
