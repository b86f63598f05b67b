package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A script makes a program: commands of every verb on several series, mostly right, spelled in every way.
type script struct {
	r      *rand.Rand
	piped  bool
	comma  bool // the locale's numbers have one: rrdtool reads smoothing-window=0.2 as 0 then
	files  []*file
	lines  [][]string
	plain  bool // names are as they are
	exact  bool // no mistakes in the next command: what is there must be known
	forced bool // a restore that replaces went before: in pipe mode rrdtool remembers it
	ranged bool // likewise, one that checks the range
}

// A file is a series as far as the script knows of it.
type file struct {
	name   string
	step   int64
	begin  int64
	last   int64
	made   bool
	ds     []source
	cfs    []string
	rows   []int
	season bool // has SEASONAL archives
	along  bool // which HWPREDICT has brought along
}

type source struct {
	name, kind string
	value      int64
}

func (s *script) pick(of ...string) string { return of[s.r.IntN(len(of))] }
func (s *script) one(n int) bool           { return s.r.IntN(n) == 0 }

// named is a series by one of its names.
func (s *script) named(f *file) string {
	if !s.plain && s.one(10) {
		return s.pick("./", ".//", "./././") + f.name
	}
	return f.name
}

func number(v int64) string { return strconv.FormatInt(v, 10) }

// newScript makes a program of some commands, and updates that rrdtool is to make of the files that are left.
func newScript(r *rand.Rand, piped, comma bool) (program, later [][]string, files []*file) {
	s := &script{r: r, piped: piped, comma: comma}
	for _, name := range []string{"a.rrd", "b.rrd", "c d.rrd", "_e-1.rrd"} {
		s.files = append(s.files, &file{name: name})
		if s.one(2) {
			break
		}
	}
	if piped { // in rondo a folder is there while something is in it
		s.add("create", "keep.rrd", "-b", "1000000000", "DS:x:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:5")
	}
	s.create(s.files[0])
	for range 8 + r.IntN(30) {
		s.command()
	}
	for _, f := range s.files {
		if f.made {
			s.add("info", f.name)
			s.add("dump", f.name)
		}
	}
	program, s.lines, s.exact, s.plain = s.lines, nil, true, true
	for _, f := range s.files {
		for range 3 {
			if f.made {
				s.update(f, "update")
			}
		}
	}
	for _, line := range s.lines { // the name first
		if i := slices.IndexFunc(s.files, func(f *file) bool { return slices.Contains(line, f.name) }); i >= 0 {
			name := s.files[i].name
			rest := slices.DeleteFunc(line[1:], func(w string) bool { return w == name })
			later = append(later, slices.Concat([]string{"update", name}, rest))
		}
	}
	return program, later, s.files
}

func (s *script) add(args ...string) { s.lines = append(s.lines, args) }

// known is one of the series, mostly one that is there.
func (s *script) known() *file {
	f := s.files[s.r.IntN(len(s.files))]
	if !f.made && !s.one(4) {
		return s.files[0]
	}
	return f
}

func (s *script) command() {
	f := s.known()
	if f.ds == nil {
		if s.one(3) {
			s.noSuch(f)
			return
		}
		s.create(f)
		return
	}
	switch s.r.IntN(40) {
	case 0:
		s.create(f)
	case 1, 2, 3, 4:
		s.fetch(f)
	case 5, 6:
		s.xport()
	case 7:
		s.say("last", nil, s.named(f))
	case 8:
		s.say("first", s.maybe(3, s.option(0, "rraindex", number(int64(s.r.IntN(6)-1)))), s.named(f))
	case 9:
		s.say("lastupdate", nil, s.named(f))
	case 10, 11:
		s.say("info", s.maybe(3, s.flag('F', "noflush")), s.named(f))
	case 12, 13:
		s.dump(f)
	case 14:
		s.restore(f)
	case 15, 16, 17:
		s.tune(f)
	case 18:
		s.resize(f)
	case 19:
		s.list()
	case 20:
		s.copies(f)
	case 21:
		s.add(s.wrong(f)...)
	case 22:
		if s.piped {
			s.walk()
		}
	case 23, 24, 25, 26:
		s.update(f, "updatev")
	default:
		s.update(f, "update")
	}
}

// noSuch asks for a series that may not be there.
func (s *script) noSuch(f *file) {
	switch verb := s.pick("last", "first", "lastupdate", "info", "dump", "fetch", "update", "updatev", "tune", "resize", "restore"); verb {
	case "fetch":
		s.say(verb, nil, s.named(f), s.pick("AVERAGE", "MAX", "NONE"))
	case "update", "updatev":
		s.say(verb, nil, s.named(f), "1000000000:1")
	case "tune":
		s.say(verb, s.maybe(2, s.option('h', "heartbeat", "x:5")), s.named(f))
	case "resize":
		s.say(verb, nil, s.named(f), "0", "GROW", "1")
	case "restore":
		s.say(verb, nil, xmlFolder+"/none.xml", s.named(f))
	default:
		s.say(verb, nil, s.named(f))
	}
}

func (s *script) create(f *file) {
	r := s.r
	s.exact = !s.one(8)
	defer func() { s.exact = false }()
	keep := s.one(8)
	if !s.exact {
		f = &file{name: "other.rrd"}
	} else if keep && f.made {
		f = &file{name: f.name} // it stays what it is
	}
	*f = file{name: f.name, made: true}
	f.step = []int64{1, 5, 10, 60, 300, 7, 3600}[r.IntN(7)]
	f.begin = 1_000_000_000 + r.Int64N(400_000_000)
	f.last = f.begin
	step := number(f.step)
	if f.step%60 == 0 && s.one(3) {
		step = number(f.step/60) + "m"
	}
	options := [][]string{s.option('b', "start", number(f.begin)), s.option('s', "step", step)}
	if keep {
		options = append(options, s.flag('O', "no-overwrite"))
	}
	args := []string{s.named(f)}
	for i := range 1 + r.IntN(4) {
		args = append(args, s.source(f, i))
	}
	for range 1 + r.IntN(4) {
		args = append(args, s.archive(f))
	}
	if s.one(3) {
		args = append(args, s.family(f)...)
	}
	s.say("create", options, args...)
}

func (s *script) source(f *file, i int) string {
	r := s.r
	ds := source{name: s.pick("x", "in", "out-1", "A_b", "nineteen-letters_x") + strconv.Itoa(i), value: r.Int64N(1000)}
	ds.kind = s.pick("GAUGE", "GAUGE", "COUNTER", "DERIVE", "ABSOLUTE", "DCOUNTER", "DDERIVE", "COMPUTE")
	if ds.kind == "COMPUTE" && i == 0 {
		ds.kind = "GAUGE"
	}
	f.ds = append(f.ds, ds)
	if ds.kind == "COMPUTE" {
		e := &expression{r: r, most: 12, compute: true, right: s.exact}
		for _, d := range f.ds[:i] {
			e.names = append(e.names, d.name)
		}
		return "DS:" + ds.name + ":COMPUTE:" + e.String()
	}
	heartbeat := number(f.step * int64(1+r.IntN(4)))
	if s.one(6) {
		heartbeat = s.pick("1h", "10m", "2d", "1w")
	}
	return fmt.Sprintf("DS:%s:%s:%s:%s:%s", ds.name, ds.kind, heartbeat, s.pick("U", "U", "0", "-50", "1e-3", "-1.5e2"), s.pick("U", "U", "1000", "1e6", "123.456"))
}

func (s *script) archive(f *file) string {
	cf := s.pick("AVERAGE", "AVERAGE", "MIN", "MAX", "LAST")
	pdps := 1 + s.r.IntN(4)*s.r.IntN(4)
	rows := 1 + s.r.IntN(25)
	f.cfs, f.rows = append(f.cfs, cf), append(f.rows, rows)
	if s.one(8) { // durations
		return fmt.Sprintf("RRA:%s:%s:%ds:%ds", cf, s.pick("0.5", "0"), f.step*int64(pdps), f.step*int64(pdps*rows))
	}
	return fmt.Sprintf("RRA:%s:%s:%d:%d", cf, s.pick("0.5", "0", "0.9", "0.25", "0.999"), pdps, rows)
}

// family are archives that predict.
func (s *script) family(f *file) []string {
	r := s.r
	n := len(f.cfs)
	period := 2 + r.IntN(8)
	rows := period + r.IntN(12)
	factor := func() string { return s.pick("0.1", "0.5", "0.0035", "0.9", "1e-2") }
	cf := s.pick("HWPREDICT", "HWPREDICT", "MHWPREDICT")
	f.season = true
	f.cfs = append(f.cfs, cf, "SEASONAL", "DEVSEASONAL", "DEVPREDICT", "FAILURES")
	if s.one(2) {
		f.along = true
		return []string{fmt.Sprintf("RRA:%s:%d:%s:%s:%d", cf, rows, factor(), factor(), period)}
	}
	smooth := func() string {
		if s.comma {
			return s.pick("", ":smoothing-window=0")
		}
		return s.pick("", "", ":smoothing-window=0.2", ":smoothing-window=0")
	}
	return []string{
		fmt.Sprintf("RRA:%s:%d:%s:%s:%d:%d", cf, rows, factor(), factor(), period, n+2),
		fmt.Sprintf("RRA:SEASONAL:%d:%s:%d%s", period, factor(), n+1, smooth()),
		fmt.Sprintf("RRA:DEVSEASONAL:%d:%s:%d%s", period, factor(), n+1, smooth()),
		fmt.Sprintf("RRA:DEVPREDICT:%d:%d", 1+r.IntN(rows), n+3),
		fmt.Sprintf("RRA:FAILURES:%d:2:%d:%d", 1+r.IntN(rows), 2+r.IntN(7), n+3),
	}
}

// copies makes a series of the definition of another, or of what it holds.
func (s *script) copies(f *file) {
	to := s.files[s.r.IntN(len(s.files))]
	if to == f {
		return
	}
	// rrdtool gives a copy of a file of version 4 or 5 version 3, and forgets what that means.
	later := slices.ContainsFunc(f.ds, func(d source) bool { return d.kind == "DCOUNTER" || d.kind == "DDERIVE" })
	if later || f.season {
		return
	}
	*to = file{name: to.name, made: true, step: f.step, begin: f.last, last: f.last, ds: slices.Clone(f.ds), cfs: slices.Clone(f.cfs), rows: slices.Clone(f.rows)}
	s.exact = true
	defer func() { s.exact = false }()
	options := [][]string{s.option('t', "template", s.named(f)), s.option('b', "start", number(f.last))}
	args := []string{to.name}
	more := slices.ContainsFunc(f.ds, func(d source) bool { return d.name == "more" })
	if !more && s.one(2) {
		args = append(args, "DS:more:GAUGE:100:0:10")
		to.ds = append(to.ds, source{"more", "GAUGE", 3})
	}
	if s.one(2) {
		args = append(args, s.archive(to))
	}
	if s.one(4) {
		to.step = 1 + s.r.Int64N(300)
		options = append(options, s.option('s', "step", number(to.step)))
	}
	s.say("create", options, args...)
}

func (s *script) update(f *file, verb string) {
	var takes []int
	for i := range f.ds {
		if f.ds[i].kind != "COMPUTE" {
			takes = append(takes, i)
		}
	}
	var options [][]string
	if s.one(5) {
		options = append(options, s.flag('s', "skip-past-updates"))
	}
	if s.one(4) {
		s.r.Shuffle(len(takes), func(i, j int) { takes[i], takes[j] = takes[j], takes[i] })
		takes = takes[:1+s.r.IntN(len(takes))]
		var names []string
		for _, i := range takes {
			names = append(names, f.ds[i].name)
		}
		options = append(options, s.option('t', "template", strings.Join(names, ":")))
	}
	args := []string{s.named(f)}
	for range 1 + s.r.IntN(5)*s.r.IntN(4) {
		args = append(args, s.sample(f, takes))
	}
	s.say(verb, options, args...)
}

func (s *script) sample(f *file, takes []int) string {
	switch s.r.IntN(16) {
	case 0:
		f.last += f.step * s.r.Int64N(60)
	case 1:
		f.last -= s.r.Int64N(3)
	case 2:
	case 3, 4:
		f.last += 1 + s.r.Int64N(f.step)
	case 5:
		f.last += 2*f.step - f.last%f.step
	default:
		f.last += f.step
	}
	at := number(f.last)
	if s.one(6) {
		at += "." + strconv.Itoa(s.r.IntN(1000000))
	}
	separator := ":"
	if s.one(15) && !strings.Contains(at, ".") {
		separator = "@"
	}
	readings := make([]string, len(takes))
	for i, ds := range takes {
		readings[i] = s.reading(&f.ds[ds])
	}
	text := at + separator + strings.Join(readings, ":")
	if s.one(80) {
		text += s.pick(":1", ":", "@1")
	}
	return text
}

func (s *script) reading(d *source) string {
	if s.one(12) {
		return "U"
	}
	if s.one(90) {
		return s.pick("", "x", "1e5", "-1", "1.5", "nan", " 1", "1 ", "0x10", "18446744073709551615", "Unknown", "u", "inf", "-inf", "1e", ".5", "5.", "1,5", "1e400")
	}
	d.value += s.r.Int64N(5000)
	if s.one(20) {
		d.value = s.r.Int64N(100)
	}
	if d.kind == "COUNTER" || d.kind == "DERIVE" {
		return number(d.value)
	}
	return s.pick(number(d.value%1500), fmt.Sprintf("%.2f", float64(d.value)/7), fmt.Sprintf("%g", s.r.NormFloat64()*1e3),
		fmt.Sprintf("%.17g", s.r.ExpFloat64()*1e5), fmt.Sprintf("%.12e", s.r.NormFloat64()*1e-4))
}

// between is a range of time about the newest rows of a series.
func (s *script) between(f *file) (start, end string, from, to int64) {
	to = f.last + s.r.Int64N(20*f.step) - 10*f.step
	from = to - s.r.Int64N(60*f.step)
	start, end = number(from), number(to)
	switch s.r.IntN(6) {
	case 0:
		start = fmt.Sprintf("end-%ds", to-from)
	case 1:
		end = fmt.Sprintf("start+%ds", to-from)
	}
	return start, end, from, to
}

func (s *script) fetch(f *file) {
	cf := f.cfs[s.r.IntN(len(f.cfs))]
	if s.one(6) {
		cf = s.pick("AVERAGE", "MIN", "MAX", "LAST", "HWPREDICT", "average", "NONE")
	}
	start, end, _, _ := s.between(f)
	options := [][]string{s.option('s', "start", start), s.option('e', "end", end)}
	if s.one(2) {
		options = append(options, s.option('r', "resolution", s.pick("1", "5m", "1m", "30", "1h", number(f.step*int64(1+s.r.IntN(12))))))
	}
	if s.one(4) {
		options = append(options, s.flag('a', "align-start"))
	}
	s.say("fetch", options, s.named(f), cf)
}

func (s *script) dump(f *file) {
	var options [][]string
	if s.one(3) {
		options = append(options, s.option('h', "header", s.pick("none", "xsd", "dtd", "foo", "")))
	}
	if s.one(6) {
		options = append(options, s.flag('n', "no-header"))
	}
	args := []string{s.named(f)}
	if s.one(2) {
		args = append(args, fmt.Sprintf("%s/%d.xml", xmlFolder, s.r.IntN(3)))
	}
	s.say("dump", options, args...)
}

// restore makes a series of its own dump, or of another's.
func (s *script) restore(f *file) {
	to := s.files[s.r.IntN(len(s.files))]
	s.exact = true
	defer func() { s.exact = false }()
	xml := xmlFolder + "/r.xml"
	s.add("dump", s.named(f), xml)
	var options [][]string
	if to.made || s.forced || s.one(3) {
		options = append(options, s.flag('f', "force-overwrite"))
	}
	// rrdtool takes the expression of a COMPUTE source for its limits.
	compute := slices.ContainsFunc(f.ds, func(d source) bool { return d.kind == "COMPUTE" })
	if s.ranged && compute {
		return
	}
	if s.ranged || !compute && s.one(4) {
		options = append(options, s.flag('r', "range-check"))
		s.ranged = s.piped
	}
	s.forced = s.forced || s.piped && options != nil
	s.say("restore", options, xml, to.name)
	if to != f {
		name := to.name
		*to = *f
		to.name, to.ds, to.cfs, to.rows = name, slices.Clone(f.ds), slices.Clone(f.cfs), slices.Clone(f.rows)
	}
	s.add("dump", to.name)
}

func (s *script) resize(f *file) {
	later := slices.ContainsFunc(f.ds, func(d source) bool { return d.kind == "DCOUNTER" || d.kind == "DDERIVE" })
	if later { // a later version is refused, but not before there is a piece of a file
		return
	}
	s.say("resize", nil, s.named(f), s.pick("0", "1", "2", "3", "9", "x", "-1"), s.pick("GROW", "SHRINK", "GROW", "grow"), s.pick("1", "2", "3", "7", "0", "-1", "2x"))
	s.add("info", "resize.rrd")
	s.add("dump", "resize.rrd")
}

func (s *script) list() {
	s.say("list", s.maybe(2, s.flag('r', "recursive")), s.pick(".", ".", "./", "none", s.files[0].name))
}

// walk goes about the folders of pipe mode.
func (s *script) walk() {
	switch s.r.IntN(6) {
	case 0:
		s.add("mkdir", "d")
		s.add("cd", "d")
		s.create(&file{name: "in.rrd"})
		s.add("ls")
		s.add("cd", "..")
		s.add("info", "d/in.rrd")
	case 1:
		s.add("pwd")
	case 2:
		s.add("cd", "none")
	case 3:
		s.add("mkdir", "none/x")
	case 4:
		s.add("pwd", "x")
	default:
		s.add("cd", ".")
	}
}
