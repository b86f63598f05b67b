package rrdcached_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A script writes requests that both servers are asked.
type script struct {
	r      *rand.Rand
	prefix string // of names
	files  []*scripted
	made   int
	now    int64
}

// A scripted is a file that a script has created, or meant to.
type scripted struct {
	name    string
	kinds   []string // of data sources with values
	sources []string
	cfs     []string
	last    int64 // tenths of a second
	fresh   bool  // never updated
	tenths  bool  // updated at fractions of a second
}

func (s *script) pick(of ...string) string { return of[s.r.IntN(len(of))] }

// create makes a request that creates a file.
func (s *script) create() []string {
	f := &scripted{name: s.prefix + fmt.Sprintf("%d%s", s.made, s.pick(".rrd", ".rrd", "x.rrd", "/a.rrd", "/b/c.rrd", "\\ d.rrd")), fresh: true}
	s.made++
	start := 1_000_000_000 + s.r.Int64N(1000)
	f.last = start * 10
	words := []string{s.pick("CREATE", "create", "Create"), f.name, "-b", fmt.Sprint(start)}
	if s.r.IntN(5) > 0 {
		words = append(words, "-s", s.pick("1", "10", "10", "7", "60"))
	}
	if s.r.IntN(6) == 0 {
		words = append(words, "-O")
	}
	for i := range 1 + s.r.IntN(3) {
		name, kind := fmt.Sprintf("ds%d", i), s.pick("GAUGE", "GAUGE", "COUNTER", "DERIVE", "ABSOLUTE", "DCOUNTER", "DDERIVE")
		f.sources = append(f.sources, name)
		f.kinds = append(f.kinds, kind)
		words = append(words, fmt.Sprintf("DS:%s:%s:%s:%s", name, kind, s.pick("5", "20", "100", "3600"), s.pick("U:U", "0:U", "U:100", "-5:1e9")))
		if s.r.IntN(6) == 0 {
			f.sources = append(f.sources, "c"+name)
			words = append(words, fmt.Sprintf("DS:c%s:COMPUTE:%s,2,*", name, name))
		}
	}
	for range 1 + s.r.IntN(3) {
		cf := s.pick("AVERAGE", "MIN", "MAX", "LAST")
		f.cfs = append(f.cfs, cf)
		words = append(words, fmt.Sprintf("RRA:%s:%s:%s:%d", cf, s.pick("0", "0.5", "0.9"), s.pick("1", "1", "2", "5", "12"), 1+s.r.IntN(20)))
	}
	switch s.r.IntN(12) {
	case 0: // a mistake
		words[2+s.r.IntN(len(words)-2)] = s.pick("DS:x", "RRA:FOO:1:1:1", "-b", "", "-q", "RRA:AVERAGE:2:1:1")
	default:
		s.files = append(s.files, f)
	}
	return []string{strings.Join(words, " ")}
}

// derive creates a file after another, and shows it.
func (s *script) derive() []string {
	from := s.file()
	f := &scripted{name: s.prefix + fmt.Sprintf("%dt.rrd", s.made), kinds: from.kinds, sources: from.sources, cfs: from.cfs, last: from.last + 10 - from.last%10, fresh: true}
	s.made++
	create := "CREATE " + f.name + fmt.Sprintf(" -b %d ", f.last/10) + s.pick("-t ", "-t ", "-tx ") + s.pick(from.name, "@BASE/"+from.name)
	if s.r.IntN(6) == 0 && !strings.HasSuffix(from.name, "x") && !strings.HasSuffix(from.name, "such.rrd") {
		create += " -r " + s.prefix + "nosuch.rrd"
	}
	if !strings.Contains(create, "such.rrd") && !strings.HasSuffix(from.name, "x") {
		s.files = append(s.files, f)
	}
	return []string{
		"FLUSH " + from.name, create, "INFO " + f.name,
		fmt.Sprintf("FETCH %s %s %d %d", f.name, f.cfs[0], f.last/10-200, f.last/10),
	}
}

// file picks a file, and sometimes one that does not exist.
func (s *script) file() *scripted {
	if len(s.files) == 0 || s.r.IntN(15) == 0 {
		return &scripted{name: s.prefix + s.pick("nosuch.rrd", "no/such.rrd", "x"), kinds: []string{"GAUGE"}, cfs: []string{"AVERAGE"}, last: 1e10, fresh: true}
	}
	return s.files[s.r.IntN(len(s.files))]
}

// value is a value that both take: rrdcached acknowledges what its files then refuse.
func (s *script) value(kind string) string {
	switch {
	case s.r.IntN(12) == 0:
		return s.pick("U", "U", "Unknown")
	case kind == "COUNTER":
		return s.pick(fmt.Sprint(s.r.IntN(1000)), fmt.Sprint(s.r.Uint64()), "0", "007")
	case kind == "DERIVE":
		return s.pick(fmt.Sprint(s.r.IntN(1000)), fmt.Sprint(-s.r.IntN(1000)), "0")
	}
	return s.pick(fmt.Sprint(s.r.IntN(200)-20), fmt.Sprintf("%.2f", s.r.Float64()*200), fmt.Sprint(s.r.NormFloat64()*1e3), "1e3", ".5", "5.", "-0", "1e", "nan", "inf")
}

// sample is a word of UPDATE.
func (s *script) sample(f *scripted) string {
	switch s.r.IntN(12) {
	case 0: // late
		f.tenths = true
		return s.time(f.last-s.r.Int64N(50)) + s.values(f)
	case 1:
		if s.r.IntN(3) == 0 {
			return s.pick("N", "", "abc", ":", "now", "12x") + s.pick(":1", "", ":1:2")
		}
	}
	f.last += 1 + s.r.Int64N([]int64{15, 100, 400, 5000}[s.r.IntN(4)])
	if s.r.IntN(4) > 0 {
		f.last += 10 - f.last%10
	}
	f.fresh = false
	f.tenths = f.tenths || f.last%10 != 0
	return s.time(f.last) + s.values(f)
}

func (s *script) time(tenths int64) string {
	if tenths%10 == 0 {
		return s.pick("%d", "%d", "%d", "%d.0", "+%d", "%de0", "%d.")
	}
	return "%d." + fmt.Sprint(tenths%10)
}

func (s *script) values(f *scripted) string {
	var b strings.Builder
	for _, k := range f.kinds {
		b.WriteString(":" + s.value(k))
	}
	return b.String()
}

// update is an UPDATE of one or more samples.
func (s *script) update(f *scripted) string {
	words := []string{s.pick("UPDATE", "update", "uPdAtE"), s.spell(f.name)}
	for range 1 + s.r.IntN(3)/2*s.r.IntN(4) {
		before := f.last
		w := s.sample(f)
		if strings.Contains(w, "%d") {
			at := f.last
			if f.last == before { // late: sample drew a time before it
				at -= s.r.Int64N(30)
			}
			w = fmt.Sprintf(w, at/10)
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// spell writes a name in another way.
func (s *script) spell(name string) string {
	switch s.r.IntN(10) {
	case 0:
		return "@BASE/" + name
	case 1:
		return strings.ReplaceAll(name, "r", "\\r")
	}
	return name
}

// span is a start and an end for FETCH.
func (s *script) span(f *scripted) string {
	last := f.last / 10
	switch s.r.IntN(12) {
	case 0:
		if s.r.IntN(10) == 0 { // a day
			return ""
		}
	case 1:
		return fmt.Sprintf(" %d", s.now-s.r.Int64N(3000))
	case 2:
		return fmt.Sprintf(" %d %d", last+100, last-s.r.Int64N(1000)) // backwards
	case 3:
		return s.pick(" x", " 1000 y", " 12abc 20", " 0x10 0x20", " 010 020", " +5 +9")
	}
	start := last - s.r.Int64N(3000)
	return fmt.Sprintf(" %d %d", start, start+s.r.Int64N(2000))
}

// requests returns what is sent at once.
func (s *script) requests() []string {
	f := s.file()
	flush := "FLUSH " + f.name // so that both have the same on disk
	switch n := s.r.IntN(100); {
	case n < 8 || len(s.files) == 0:
		return s.create()
	case n < 11:
		return s.derive()
	case n < 45:
		return []string{s.update(f)}
	case n < 55:
		return s.batch()
	case n < 70:
		cf := f.cfs[s.r.IntN(len(f.cfs))]
		if s.r.IntN(8) == 0 {
			cf = s.pick("AVERAGE", "LAST", "MIN", "FOO", "average", "FAILURES")
		}
		columns := ""
		if s.r.IntN(4) == 0 && len(f.sources) > 0 {
			columns = " " + s.pick(f.sources...)
		}
		span := s.span(f)
		if span == "" || strings.Count(span, " ") < 2 {
			columns = ""
		}
		verb := s.pick("FETCH ", "FETCH ", "fetch ", "FETCHBIN ")
		if strings.Count(span, " ") < 2 {
			verb = "FETCH "
		}
		return []string{flush, verb + f.name + " " + cf + span + columns}
	case n < 76:
		return []string{flush, s.pick("INFO ", "info ") + s.spell(f.name)}
	case n < 80:
		return []string{flush, "LAST " + f.name}
	case n < 84:
		return []string{flush, "FIRST " + f.name + s.pick(" 0", " 1", " 5", " -1", "", " x", " 1x")}
	case n < 88:
		return []string{"LIST " + s.pick("/", "", "RECURSIVE ", "RECURSIVE ") + "/" + strings.TrimSuffix(s.prefix, "/") + s.pick("", "/", "/nosuch")}
	case n < 90:
		return []string{flush, "PENDING " + f.name}
	case n < 92 && !f.fresh:
		return []string{flush, "SUSPEND " + f.name, "SUSPEND " + f.name, "RESUME " + f.name, "RESUME " + f.name}
	case n < 94 && !f.fresh && !f.tenths: // what it has forgotten rrdcached knows to the second
		return []string{flush, "FORGET " + f.name, "FORGET " + s.prefix + "nosuch"}
	}
	return []string{s.pick("PING", "ping x", "PING\r", "PING ", " PING", "", "FOO", "foo bar", ".", "WROTE x", "FLUSHALL", "PI\\NG", "UPDATE", "UPDATE ",
		"UPDATE "+f.name, "UPDATE "+f.name+" ", "FLUSH", "FETCH "+f.name, "INFO", "LAST", "CREATE", "PENDING", "FORGET", "FETCHBIN",
		"UPDATE ../x 1000000000:1", "FLUSH ../../x", "INFO /etc/passwd", "LAST ../x", "FETCH /x AVERAGE", "CREATE ../x DS:a:GAUGE:1:U:U RRA:LAST:0:1:1",
		"LIST x", "LIST /../..", "HELP\x00x", "STATS x")}
}

// batch is a BATCH, answered once.
func (s *script) batch() []string {
	lines := []string{"BATCH"}
	for range s.r.IntN(12) {
		f := s.file()
		switch s.r.IntN(14) {
		case 0:
			lines = append(lines, s.pick("PING", "FETCH "+f.name+" AVERAGE", "HELP", "STATS", "LIST /", "FOO", "", "QUEUE", "BATCH", "flushall", "UPDATE"))
		case 1:
			lines = append(lines, "FLUSH "+f.name)
		case 2:
			lines = append(lines, s.create()...)
		default:
			lines = append(lines, s.update(f))
		}
	}
	return []string{strings.Join(append(lines, "."), "\n")}
}
