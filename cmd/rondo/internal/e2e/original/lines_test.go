package original

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A script makes a program: commands of every verb on several series, mostly right, spelled in
// every way.
type script struct {
	r      *rand.Rand
	piped  bool
	comma  bool // the locale's numbers have one: rrdtool reads smoothing-window=0.2 as 0 then
	files  []*file
	lines  [][]string
	plain  bool // names are as they are
	exact  bool // no mistakes in the next command: what is there must be known
	coarse bool // the next series has no archive of one PDP a row, and none that predicts
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
	rows   []int // of the archives that do not predict
	pdps   []int // a row of them
	season bool  // has SEASONAL archives
	along  bool  // which HWPREDICT has brought along
	recent bool  // its last update is the present, which the script does not know
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

// newScript makes a program of some commands, and updates that rrdtool is to make of the files that
// are left.
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
			if f.made && !f.recent {
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
	switch s.r.IntN(42) {
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
	case 27:
		s.filled(f)
	case 28:
		s.present(f)
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

func (s *script) resize(f *file) {
	// What the script knows of a series may be wrong, if a command that was to make it anew was
	// refused: all that made it count.
	later := slices.ContainsFunc(s.lines, func(line []string) bool {
		text := strings.Join(line, " ")
		return strings.Contains(text, f.name) && (strings.Contains(text, ":DCOUNTER") || strings.Contains(text, ":DDERIVE"))
	}) || slices.ContainsFunc(f.ds, func(d source) bool { return d.kind == "DCOUNTER" || d.kind == "DDERIVE" })
	if later { // a later version is refused, but not before there is a piece of a file
		return
	}
	s.say("resize", nil, s.named(f), s.pick("0", "1", "2", "3", "9", "x", "-1"), s.pick("GROW", "SHRINK", "GROW", "grow"), s.pick("1", "2", "3", "7", "0", "-1", "2x"))
	s.add("info", "resize.rrd")
	s.add("dump", "resize.rrd")
}

func (s *script) list() {
	options := append(s.maybe(2, s.flag('r', "recursive")), s.maybe(3, s.flag('F', "noflush"))...)
	s.say("list", options, s.pick(".", ".", "./", "none", s.files[0].name))
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
