package original

import (
	"fmt"
	"slices"
	"strconv"
)

func (s *script) create(f *file) {
	r := s.r
	s.exact = s.coarse || !s.one(8)
	defer func() { s.exact = false }()
	keep := !s.coarse && s.one(8)
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
	options := [][]string{s.option('s', "step", step)}
	if f.recent = s.exact && !s.coarse && s.one(12); !f.recent {
		options = append(options, s.option('b', "start", number(f.begin)))
	}
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
	if !s.coarse && s.one(3) {
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
	if s.coarse {
		pdps++
	}
	rows := 1 + s.r.IntN(25)
	f.cfs, f.rows, f.pdps = append(f.cfs, cf), append(f.rows, rows), append(f.pdps, pdps)
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
	// rrdtool gives a copy of a file of version 4 or 5 version 3, and forgets what that means:
	// docs/rrdtool-compat.md, create.
	later := slices.ContainsFunc(f.ds, func(d source) bool { return d.kind == "DCOUNTER" || d.kind == "DDERIVE" })
	if later || f.season {
		return
	}
	name := to.name
	*to = *f
	to.name, to.begin, to.ds, to.cfs = name, f.last, slices.Clone(f.ds), slices.Clone(f.cfs)
	to.rows, to.pdps = slices.Clone(f.rows), slices.Clone(f.pdps)
	s.exact = true
	defer func() { s.exact = false }()
	options := [][]string{s.option('t', "template", s.named(f))}
	if s.one(2) { // otherwise it begins when the template ends
		options = append(options, s.option('b', "start", number(f.last)))
		to.recent = false
	}
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
		to.name, to.ds, to.cfs, to.rows, to.pdps = name, slices.Clone(f.ds), slices.Clone(f.cfs), slices.Clone(f.rows), slices.Clone(f.pdps)
	}
	s.add("dump", to.name)
}

// filled makes a series of what one or several others hold, f among them. What rrdtool loses or
// mixes up then, and docs/rrdtool-compat.md lists, is kept out: all series have one step of more
// than a second; each archive that gives has more rows than one new row needs; one of the new
// archives at most has one PDP a row, and none predicts. Nor does a series give that ends at the
// present: see present.
func (s *script) filled(f *file) {
	if f.step == 1 {
		return
	}
	var from []*file
	longest := 10
	for _, g := range s.files {
		if !g.made || g.step != f.step || g != f && s.one(3) {
			continue
		}
		if g.recent || !gives(g) {
			if g == f {
				return
			}
			continue
		}
		from = append(from, g)
		for i, rows := range g.rows {
			longest = min(longest, (rows-3)*g.pdps[i])
		}
	}
	s.r.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
	to := s.files[s.r.IntN(len(s.files))]
	next := file{name: to.name, made: true, step: f.step}
	options := [][]string{s.option('s', "step", number(f.step))}
	s.exact = true
	defer func() { s.exact = false }()
	var names []string // of their data sources
	var filling [][]string
	for _, g := range from {
		filling = append(filling, s.option('r', "source", s.named(g)))
		next.last = max(next.last, g.last)
		for _, d := range g.ds {
			names = append(names, d.name)
		}
	}
	options = append(options, slices.Concat(filling...)) // in this order, which counts
	if s.one(3) {
		next.last += s.r.Int64N(10*f.step) - 5*f.step
		options = append(options, s.option('b', "start", number(next.last)))
	}
	next.begin = next.last
	args := []string{to.name}
	for i := range 1 + s.r.IntN(3) {
		ds := source{name: names[s.r.IntN(len(names))], kind: s.pick("GAUGE", "GAUGE", "COUNTER", "DERIVE", "ABSOLUTE"), value: s.r.Int64N(1000)}
		if mapped := ds.name; s.one(4) || slices.ContainsFunc(next.ds, func(d source) bool { return d.name == mapped }) {
			ds.name = fmt.Sprintf("m%d_%d", len(s.lines), i) // no other has this name
			args = append(args, fmt.Sprintf("DS:%s=%s%s:%s:%d:U:U", ds.name, mapped, s.pick("", "[1]", fmt.Sprintf("[%d]", len(from))), ds.kind, 2*f.step))
		} else {
			args = append(args, fmt.Sprintf("DS:%s:%s:%d:U:U", ds.name, ds.kind, 2*f.step))
		}
		next.ds = append(next.ds, ds)
	}
	for i := range 1 + s.r.IntN(3) {
		pdps := 1
		if i > 0 {
			if longest < 2 {
				break
			}
			pdps = 2 + s.r.IntN(longest-1)
		}
		cf, rows := s.pick("AVERAGE", "AVERAGE", "MIN", "MAX", "LAST"), 1+s.r.IntN(20)
		next.cfs, next.rows, next.pdps = append(next.cfs, cf), append(next.rows, rows), append(next.pdps, pdps)
		args = append(args, fmt.Sprintf("RRA:%s:%s:%d:%d", cf, s.pick("0.5", "0", "0.9", "0.25"), pdps, rows))
	}
	s.say("create", options, args...)
	s.add("dump", to.name)
	*to = next
}

// gives says whether rows of a series can be taken as rrdtool takes them: see filled.
func gives(f *file) bool {
	return len(f.ds) > 0 && !slices.ContainsFunc(f.rows, func(rows int) bool { return rows < 4 })
}
