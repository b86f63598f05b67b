// Graphs draws the graphs of this folder: each by rrdtool, on the left, and by rondo.
//
//	go run ./docs/graphs            in the root of the module; rrdtool must be installed
//	go run ./docs/graphs -keep DIR  leaves the data and the pictures, in every format, in DIR
package main

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	keep := flag.String("keep", "", "folder in which the data and the pictures stay")
	flag.Parse()
	dir := *keep
	if dir == "" {
		temp, err := os.MkdirTemp("", "graphs")
		check(err)
		defer os.RemoveAll(temp)
		dir = temp
	}
	dir, err := filepath.Abs(dir)
	check(err)
	rondo := filepath.Join(dir, "rondo")
	run(".", "go", "build", "-o", rondo, "./cmd/rondo")
	data(dir)
	formats := []string{"png"}
	if *keep != "" {
		formats = append(formats, "svg", "pdf", "eps")
	}
	for _, g := range graphs {
		args := strings.Split(strings.TrimSpace(g.args), "\n")
		for _, f := range formats {
			common := append([]string{"-a", strings.ToUpper(f)}, args...)
			run(dir, "rrdtool", append([]string{"graph", g.name + "-rrdtool." + f}, common...)...)
			run(dir, rondo, append([]string{"rrdtool", "graph", g.name + "-rondo." + f}, common...)...)
		}
		beside(filepath.Join("docs/graphs", g.name+".png"), filepath.Join(dir, g.name+"-rrdtool.png"), filepath.Join(dir, g.name+"-rondo.png"))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func run(dir, name string, args ...string) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TZ=Europe/Berlin", "LC_ALL=C")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		log.Fatalf("%s %q: %v\n%s", name, args, err, errs.String())
	}
}

const (
	hour = 3600
	day  = 24 * hour
	end  = 1711360800 // 25 March 2024, 11:00 in Berlin
)

// data makes the series: of a day by minutes, of a year by hours, and of days with archives that
// predict. All of it is the same each time.
func data(dir string) {
	seed := uint32(1)
	noise := func() float64 { // from -1 to 1
		seed = seed*1664525 + 1013904223
		return float64(seed>>8)/(1<<23) - 1
	}
	wave := func(t, period int64, shift float64) float64 {
		return math.Sin(2*math.Pi*(float64(t%period)/float64(period)) + shift)
	}
	sample := func(t int64) []float64 {
		load := 0.55 - 0.4*wave(t, day, 1.3) + 0.08*noise() + 0.1*wave(t, 365*day, 0)
		load = max(0.02, load)
		if t > end-30*hour && t < end-27*hour { // nobody knows why
			load += 1.2
		}
		in := 2e6 * (load + 0.3*max(0, wave(t, 7*hour, 2))) * (1 + 0.2*noise())
		return []float64{
			60 * load * (1 + 0.1*noise()), 18 * load * (1 + 0.2*noise()), 4 + 3*noise(), // user, system, wait
			max(0, in), max(0, in*0.4*(1+0.5*noise())), // in, out
			12 + 9*wave(t, 365*day, -1.9) - 4*wave(t, day, 0.8) + noise(), // temperature
			math.Pow(10, 2.5+1.5*wave(t, 9*hour, 0)+0.3*noise()),          // requests
		}
	}
	file := func(name string, first, step int64, archives ...string) {
		args := []string{"create", name, "--start", fmt.Sprint(first - 1), "--step", fmt.Sprint(step)}
		for _, ds := range []string{"user", "system", "wait", "in", "out", "temp", "requests"} {
			args = append(args, fmt.Sprintf("DS:%s:GAUGE:%d:U:U", ds, 2*step))
		}
		run(dir, "rrdtool", append(args, archives...)...)
		var updates []string
		for t := first; t <= end; t += step {
			if t > end-9*hour && t < end-9*hour+1200 { // nobody was there
				continue
			}
			line := fmt.Sprint(t)
			for _, v := range sample(t) {
				line += fmt.Sprintf(":%.4f", v)
			}
			if updates = append(updates, line); len(updates) == 500 || t+step > end {
				run(dir, "rrdtool", append([]string{"update", name}, updates...)...)
				updates = nil
			}
		}
	}
	for _, name := range []string{"day.rrd", "year.rrd", "hw.rrd"} {
		_ = os.Remove(filepath.Join(dir, name)) // of the time before
	}
	file("day.rrd", end-2*day, 60, "RRA:AVERAGE:0.5:1:3000", "RRA:MAX:0.5:5:600")
	file("year.rrd", end-370*day, hour, "RRA:AVERAGE:0.5:1:9000", "RRA:MIN:0.5:24:400", "RRA:MAX:0.5:24:400")
	file("hw.rrd", end-8*day, 600, "RRA:AVERAGE:0.5:1:1500",
		"RRA:HWPREDICT:1500:0.02:0.001:144:3", "RRA:SEASONAL:144:0.2:2", "RRA:DEVSEASONAL:144:0.2:2", "RRA:DEVPREDICT:1500:4", "RRA:FAILURES:1500:3:5:4")
}

// beside puts two pictures side by side.
func beside(to string, names ...string) {
	const gap = 12
	var pictures []image.Image
	size := image.Pt(gap, 0)
	for _, name := range names {
		f, err := os.Open(name)
		check(err)
		img, err := png.Decode(f)
		check(err)
		check(f.Close())
		pictures = append(pictures, img)
		size.X += img.Bounds().Dx() + gap
		size.Y = max(size.Y, img.Bounds().Dy()+2*gap)
	}
	all := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(all, all.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	x := gap
	for _, img := range pictures {
		draw.Draw(all, img.Bounds().Add(image.Pt(x, gap)), img, image.Point{}, draw.Over)
		x += img.Bounds().Dx() + gap
	}
	f, err := os.Create(to)
	check(err)
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	check(encoder.Encode(f, all))
	check(f.Close())
}

var graphs = []struct{ name, args string }{
	{"01-stacked", `
-s
end-1d
-e
1711360800
-t
processor of web1
-v
per cent
-l
0
DEF:u=day.rrd:user:AVERAGE
DEF:s=day.rrd:system:AVERAGE
DEF:w=day.rrd:wait:AVERAGE
AREA:s#cc0000:system
GPRINT:s:AVERAGE:average %5.1lf%%
GPRINT:s:MAX:most %5.1lf%%\l
AREA:u#ffaa00:user  :STACK
GPRINT:u:AVERAGE:average %5.1lf%%
GPRINT:u:MAX:most %5.1lf%%\l
AREA:w#3366cc:wait  :STACK
GPRINT:w:AVERAGE:average %5.1lf%%
GPRINT:w:MAX:most %5.1lf%%\l
`},
	{"02-logarithmic", `
-s
end-2d
-e
1711360800
-o
-t
requests, on a logarithmic axis
-h
160
DEF:r=day.rrd:requests:AVERAGE
DEF:m=day.rrd:requests:MAX
LINE1:m#99bbee:most in five minutes
LINE2:r#224488:requests a second
`},
	{"03-second-axis", `
-s
end-1w
-e
1711360800
-t
traffic and temperature
-v
bytes a second
--right-axis
0.00001:-5
--right-axis-label
degrees Celsius
--right-axis-format
%.0lf
DEF:i=year.rrd:in:AVERAGE
DEF:t=year.rrd:temp:AVERAGE
CDEF:high=t,5,+,100000,*
AREA:i#aaddaa:traffic
LINE2:high#cc3300:temperature (right)
`},
	{"04-gradients", `
-s
end-6h
-e
1711360800
-t
gradients
-h
140
DEF:i=day.rrd:in:AVERAGE
DEF:o=day.rrd:out:AVERAGE
AREA:i#0066cc#e0f0ff:in:gradheight=0
LINE1:i#003366
AREA:o#cc6600#fff4e0:out:gradheight=30
LINE1:o#663300
`},
	{"05-holt-winters", `
-s
end-3d
-e
1711360800
-t
what was expected, and what came
-h
150
DEF:v=hw.rrd:in:AVERAGE
DEF:p=hw.rrd:in:HWPREDICT
DEF:d=hw.rrd:in:DEVPREDICT
DEF:f=hw.rrd:in:FAILURES
CDEF:low=p,d,2,*,-
CDEF:band=d,4,*
LINE0:low
AREA:band#ddddff:expected:STACK
LINE1:p#8888cc:prediction
LINE1:v#008800:traffic
TICK:f#ff000050:1.0:  failures
`},
	{"06-week", `
-s
end-1w
-e
1711360800
-t
a week of load
-A
DEF:u=year.rrd:user:AVERAGE
LINE2:u#006699:user
HRULE:30#cc0000:much:dashes
`},
	{"07-year", `
-s
end-1y
-e
1711360800
-t
a year of temperatures
-v
degrees Celsius
-w
500
DEF:t=year.rrd:temp:AVERAGE
DEF:low=year.rrd:temp:MIN
DEF:high=year.rrd:temp:MAX
CDEF:span=high,low,-
LINE0:low
AREA:span#f4d0b0:lowest to highest of a day:STACK
LINE1:t#aa3300:average
HRULE:0#3366cc:frost
`},
	{"08-columns", `
-s
end-1d
-e
1711360800
-t
legends in columns
--tabwidth
70
DEF:u=day.rrd:user:AVERAGE
DEF:s=day.rrd:system:AVERAGE
DEF:i=day.rrd:in:AVERAGE
CDEF:mb=i,1e5,/
COMMENT:  name\tleast\taverage\tmost\l
LINE1:u#0000cc:user
GPRINT:u:MIN:\t%6.2lf\g
GPRINT:u:AVERAGE:\t%6.2lf\g
GPRINT:u:MAX:\t%6.2lf\l
LINE1:s#cc0000:system
GPRINT:s:MIN:%6.2lf
GPRINT:s:AVERAGE:%6.2lf
GPRINT:s:MAX:%6.2lf\r
LINE1:mb#00aa00:in
GPRINT:i:MIN:%6.2lf %sB/s
GPRINT:i:AVERAGE:%6.2lf %sB/s
GPRINT:i:MAX:%6.2lf %sB/s\j
`},
	{"09-dark", `
-s
end-1d
-e
1711360800
-t
dark colours
-c
BACK#16181d
-c
CANVAS#1e2128
-c
FONT#d8dee9
-c
GRID#ffffff18
-c
MGRID#ffffff40
-c
AXIS#8892a0
-c
ARROW#8892a0
-c
FRAME#1e2128
-c
SHADEA#16181d
-c
SHADEB#16181d
DEF:i=day.rrd:in:AVERAGE
DEF:o=day.rrd:out:AVERAGE
AREA:i#88c0d050
LINE1:i#88c0d0:in
LINE1:o#ebcb8b:out
GPRINT:i:LAST:now %.1lf %sB/s
GPRINT:o:LAST:%.1lf %sB/s\l
`},
	{"10-zoom", `
-s
end-12h
-e
1711360800
-m
2
-w
200
-h
70
-t
zoomed by two
DEF:u=day.rrd:user:AVERAGE
AREA:u#cce0cc
LINE1:u#226622:user
`},
	{"11-mirrored", `
-s
end-1d
-e
1711360800
-t
traffic of eth0
-v
bytes a second
-h
140
DEF:i=day.rrd:in:AVERAGE
DEF:o=day.rrd:out:AVERAGE
CDEF:down=o,-1,*
VDEF:p=i,95,PERCENT
AREA:i#00aa44:in
GPRINT:i:AVERAGE:%.1lf %sB/s
AREA:down#3366cc:out
GPRINT:o:AVERAGE:%.1lf %sB/s\l
HRULE:0#000000
LINE1:p#cc0000:95 per cent:dashes=4,3
GPRINT:p:%.1lf %sB/s\l
`},
	{"12-marks", `
-s
end-1d
-e
1711360800
-t
marks, slopes and a watermark
-W
made from a fixed set of data
-E
--right-axis
1:0
DEF:s=day.rrd:system:AVERAGE
VDEF:most=s,MAXIMUM
VDEF:average=s,AVERAGE
CDEF:high=s,15,GT,s,UNKN,IF
LINE2:s#445566:system
AREA:high#ff000060:above 15
TICK:high#cc000040:0.05
LINE1:average#00aa00:average:dashes
VRULE:most#cc00cc:the most, at
GPRINT:most:%H\:%M:strftime
`},
}
