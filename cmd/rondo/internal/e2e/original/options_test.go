package original

import (
	"fmt"
	"slices"
	"strings"
)

// option is one in one of the spellings that there are, sometimes in one that there is not.
func (s *script) option(short byte, long, value string) []string {
	n := s.r.IntN(40)
	if s.exact {
		n = 3 + s.r.IntN(37)
	}
	switch {
	case n == 0 && short != 0:
		return []string{"-" + string(short) + "=" + value}
	case n == 1:
		return []string{"--" + long[:1+s.r.IntN(len(long))], value}
	case n == 2:
		return []string{"--" + long + "="}
	case n < 12 && short != 0:
		return []string{"-" + string(short), value}
	case n < 20 && short != 0 && value != "":
		return []string{"-" + string(short) + value}
	case n < 30:
		return []string{"--" + long + "=" + value}
	}
	return []string{"--" + long, value}
}

func (s *script) flag(short byte, long string) []string {
	n := s.r.IntN(40)
	if s.exact {
		n = 3 + s.r.IntN(37)
	}
	switch {
	case n == 0:
		return []string{"--" + long + "=1"}
	case n == 1:
		return []string{"--" + long[:1+s.r.IntN(len(long))]}
	case n == 2 && short != 0:
		return []string{"-" + strings.Repeat(string(short), 2)}
	case n < 20 && short != 0:
		return []string{"-" + string(short)}
	}
	return []string{"--" + long}
}

// maybe is an option in one of n.
func (s *script) maybe(n int, option []string) [][]string {
	if s.one(n) {
		return [][]string{option}
	}
	return nil
}

// say adds a command: options stand anywhere between the arguments. Some are spoilt.
func (s *script) say(verb string, options [][]string, args ...string) {
	s.r.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
	if !s.exact && s.one(60) {
		unknown := s.pick("-q", "--foo", "--foo=bar", "-?", "--", "---", "-Z5", "-")
		if verb == "dump" { // into the file of a series
			unknown = s.pick("-q", "--foo", "-?", "---", "-Z5")
		}
		options = append(options, []string{unknown})
	}
	words := []string{verb}
	switch s.r.IntN(4) {
	case 0: // behind
		words = append(words, args...)
		for _, o := range options {
			words = append(words, o...)
		}
	case 1: // before
		for _, o := range options {
			words = append(words, o...)
		}
		if s.one(4) {
			words = append(words, "--")
		}
		words = append(words, args...)
	default:
		i := 0
		for _, o := range options {
			for i < len(args) && s.one(2) {
				words = append(words, args[i])
				i++
			}
			words = append(words, o...)
		}
		words = append(words, args[i:]...)
	}
	// A family with its archives in another order rrdtool takes, and cannot work with. Rows from
	// long ago until now are too many.
	if !s.exact && s.one(60) && len(words) > 3 && !slices.Contains([]string{"dump", "fetch", "xport"}, verb) && !(verb == "create" && strings.Contains(strings.Join(args, " "), "SEASONAL")) {
		words = s.spoilt(words)
	}
	s.lines = append(s.lines, words)
}

// spoilt is a command with a mistake.
func (s *script) spoilt(words []string) []string {
	words = append([]string(nil), words...)
	i := 1 + s.r.IntN(len(words)-1)
	switch s.r.IntN(4) {
	case 0:
		return append(words[:i], words[i+1:]...)
	case 1:
		return append(words[:i], append([]string{words[i]}, words[i:]...)...)
	case 2:
		return words[:len(words)-1]
	}
	j := 1 + s.r.IntN(len(words)-1)
	words[i], words[j] = words[j], words[i]
	return words
}

// tune changes what a series is, or tries to. What rondo refuses, and rrdtool takes and damages the
// file, is left out: docs/rrdtool-compat.md.
func (s *script) tune(f *file) {
	if !f.season && s.one(3) {
		s.restructure(f)
		return
	}
	var options [][]string
	for range 1 + s.r.IntN(3) {
		options = append(options, s.tuned(f))
	}
	s.say("tune", options, s.named(f))
	s.exact = false
	s.say("info", nil, f.name)
}

// restructure adds or removes a data source, or takes rows away. Rows that are added come from
// elsewhere, and a DS: with a mistake adds a source without a name: see docs/rrdtool-compat.md.
func (s *script) restructure(f *file) {
	s.exact = true
	defer func() { s.exact = false }()
	i := s.r.IntN(len(f.rows))
	odd := slices.ContainsFunc(f.ds, func(d source) bool {
		return d.kind == "COMPUTE" || strings.HasPrefix(d.kind, "DC") || strings.HasPrefix(d.kind, "DD")
	})
	switch change := s.r.IntN(5); {
	case change == 4:
		s.finer(f)
		return
	case change == 0:
		ds := source{name: fmt.Sprintf("t%d", s.r.IntN(1000)), kind: s.pick("GAUGE", "COUNTER", "ABSOLUTE")}
		f.ds = append(f.ds, ds)
		s.say("tune", nil, s.named(f), fmt.Sprintf("DS:%s:%s:%d:U:%s", ds.name, ds.kind, 2*f.step, s.pick("U", "1000")))
	case change == 1 && !odd && len(f.ds) > 1:
		k := s.r.IntN(len(f.ds))
		s.say("tune", nil, s.named(f), "DEL:"+f.ds[k].name)
		f.ds = slices.Delete(slices.Clone(f.ds), k, k+1)
	case change == 2 && f.rows[i] > 1:
		less := 1 + s.r.IntN(f.rows[i]-1)
		f.rows[i] -= less
		s.say("tune", nil, s.named(f), fmt.Sprintf("RRA#%d:", i)+s.pick(fmt.Sprintf("-%d", less), fmt.Sprintf("=%d", f.rows[i])))
	default:
		s.say("tune", nil, s.named(f), s.pick("DEL:nosuch", "DELRRA:99", "RRA#99:+1", "RRA#0:foo", "foo", "RRA:FOO:0.5:1:5", "RRA:AVERAGE:2:1:5"))
	}
	s.say("info", nil, f.name)
	s.add("dump", f.name)
}

// finer gives a series a finer step. What is gathered of an open step or row rrdtool does not
// compute for the new one (docs/rrdtool-compat.md, tune): a sample that ends a row of every archive
// comes first, and the series is one whose archives all have more than one PDP a row.
func (s *script) finer(f *file) {
	if f.recent || slices.Contains(f.pdps, 1) {
		s.coarse = true
		s.create(f)
		s.coarse = false
		s.update(f, "update")
	}
	i := slices.IndexFunc(f.rows, func(rows int) bool { return rows > 1 })
	parts := slices.DeleteFunc([]int{2, 3, 5, 7}, func(n int) bool { return f.step%int64(n) != 0 })
	if i < 0 || len(parts) == 0 {
		return
	}
	s.exact = true
	defer func() { s.exact = false }()
	span := int64(1)
	for _, pdps := range f.pdps {
		for k := span; span%int64(pdps) != 0; {
			span += k
		}
	}
	span *= f.step
	f.last += 2*span - f.last%span
	s.add("update", f.name, s.at(number(f.last), f))
	n := parts[s.r.IntN(len(parts))]
	f.step /= int64(n)
	for k := range f.pdps {
		f.pdps[k] *= n
	}
	f.rows[i]--
	s.say("tune", [][]string{s.option('t', "step", number(f.step))}, s.named(f), fmt.Sprintf("RRA#%d:-1", i))
	s.add("info", f.name)
	s.add("dump", f.name)
}

func (s *script) tuned(f *file) []string {
	i := s.r.IntN(len(f.ds))
	ds := f.ds[i].name
	if s.one(10) {
		ds = "nosuch"
	}
	compute := f.ds[i].kind == "COMPUTE" // a heartbeat, a limit or a type is written over its expression
	switch which := s.r.IntN(15); {
	case which < 4 && compute, which == 4 && f.ds[i].kind == "COMPUTE":
		fallthrough
	case which == 5:
		return s.option('b', "aberrant-reset", ds)
	case which < 2:
		return s.option('h', "heartbeat", ds+s.pick(":", ":", ":", "")+s.pick("20", "40", "100", "7x", "600", "x", ""))
	case which == 2:
		return s.option('i', "minimum", ds+":"+s.pick("-100", "U", "-1e3", "Ux", "x", "", "-5-5", "-0.1"))
	case which == 3:
		return s.option('a', "maximum", ds+":"+s.pick("100000", "1e6", "U", "12345.678", "x", "1e+9x"))
	case which == 4:
		kind := s.pick("GAUGE", "COUNTER", "DERIVE", "ABSOLUTE", "DCOUNTER", "DDERIVE", "FOO", "gauge", "")
		if ds == f.ds[i].name && kind != "FOO" && kind != "gauge" && kind != "" {
			if f.ds[i].kind[:2] == "DC" || f.ds[i].kind[:2] == "DD" || kind[:2] == "DC" || kind[:2] == "DD" {
				kind = f.ds[i].kind // the version of the file stays what it was
			}
			f.ds[i].kind = kind
			s.exact = true
		}
		return s.option('d', "data-source-type", ds+":"+kind)
	case which == 6:
		next := fmt.Sprintf("n%d_%d", i, s.r.IntN(1000))
		if ds == f.ds[i].name {
			f.ds[i].name = next
			s.exact = true
		}
		return s.option('r', "data-source-rename", ds+":"+next)
	case which == 7: // in one word: rondo refuses what is no number, be it the name behind an option without one
		return []string{s.pick("-p", "--deltapos=", "-n", "--deltaneg=") + s.pick("1", "3.5", "0", "-1", "2x", "1e-1")}
	case which == 8:
		return s.option('f', "failure-threshold", s.pick("0", "29", "x", "-3", "1"))
	case which == 9:
		return s.option('x', "alpha", s.factor())
	case which == 10:
		return s.option('y', "beta", s.factor())
	case which == 11:
		return s.option('z', "gamma", s.factor())
	case which == 12:
		return s.option('v', "gamma-deviation", s.factor())
	}
	if f.along && !s.comma && s.one(2) { // a file of version 4 from then on: of others rondo guesses what their windows were
		s.exact = true
		return s.option(s.smoothing(s.pick("0", "0.1", "0.25")))
	}
	return s.option('w', "window-length", s.pick("9", "28", "12"))
}

func (s *script) smoothing(window string) (short byte, long, value string) {
	if s.one(2) {
		return 's', "smoothing-window", window
	}
	return 'S', "smoothing-window-deviation", window
}

func (s *script) factor() string {
	return s.pick("0.1", "0.5", "0.0035", "0.9", "1e-2", "0", "1", "2", "x", "0.3x", "-0.1")
}

// wrong is a command that rrdtool refuses, or should think twice about.
func (s *script) wrong(f *file) []string {
	line := strings.NewReplacer("@a", "\x00", "@b", "none.rrd").Replace(s.pick(
		"last @a b", "last -z @a", "last --zz", "last @b", "first @a --rraindex=99", "first @a --rraindex x", "first --rraindex 1", "first @a b.rrd",
		"lastupdate @a b", "info @a b", "info --noflush=1 @a", "info --daemon", "fetch @a", "fetch @a FOO", "fetch @a AVERAGE -r", "fetch @a AVERAGE -r 0",
		"fetch @a AVERAGE -r 5x", "fetch @a AVERAGE -s foo", "fetch @a AVERAGE -e foo", "fetch @a AVERAGE -s 1200000000 -e start-1d",
		"fetch @a AVERAGE -s end-1d -e start+1d", "fetch @a AVERAGE -s 1/1/71", "fetch @a AVERAGE -s 1200000000 -e 1100000000", "fetch -- @a", "fetch @a AVERAGE -q",
		"update @a", "update @a N", "update @a -5:1", "update @a 5:1:2:3:4:5:6", "update @a foo:1", "update @a -t nosuch N:1", "update @a foo@1", "update @a end-1d@1",
		"updatev @a", "updatev @b N:1", "updatev @a N", "updatev -d x @a N:1", "create @b", "create @b foo", "create @b RRA:AVERAGE:0.5:1:5", "create @b DS:x:GAUGE:20:0:100",
		"create @b -s 0", "create @b -s x", "create @b -s 5x", "create @b -b foo", "create @b -b 1/1/71", "create @b -b end-1d", "create -s 10",
		"create @a -O DS:x:GAUGE:20:0:100 RRA:AVERAGE:0.5:1:5", "create @b -t nosuch", "create @b -r nosuch", "create @b -t @a -t @a",
		"create @b DS:x:FOO:20:0:1 RRA:AVERAGE:0.5:1:5", "create @b DS:x:GAUGE:20:0:1 DS:x:GAUGE:20:0:1 RRA:AVERAGE:0.5:1:5",
		"create @b DS:x:GAUGE:20:0 RRA:AVERAGE:0.5:1:5", "create @b DS:x:GAUGE:20:5:1 RRA:AVERAGE:0.5:1:5", "create @b DS:x:GAUGE:20:U:U RRA:AVERAGE:1:1:5",
		"create @b DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:0:5", "create @b DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:0", "create @b DS:x:GAUGE:20:U:U RRA:FOO:0.5:1:5",
		"create @b DS:x:GAUGE:20:U:U RRA:HWPREDICT:5:0.1:0.1:10", "create @b DS:x:GAUGE:20:U:U RRA:FAILURES:5:2:29:1", "create @b DS:x:GAUGE:0:U:U RRA:AVERAGE:0.5:1:5",
		"create @b DS:a.b:GAUGE:20:U:U RRA:AVERAGE:0.5:1:5", "create @b DS:twenty-letters-are-2:GAUGE:20:U:U RRA:AVERAGE:0.5:1:5", "create @b DS:x:COMPUTE:y,2,* RRA:AVERAGE:0.5:1:5",
		"list -z .", "list . .", "resize @a 0 GROW", "resize @b 0 GROW 1", "resize @a 99 GROW 1", "tune @a -h", "tune @a --foo", "tune @a -q x", "tune", "tune @b -h x:5",
		"tune @a -w 0", "tune @a -w 29", "tune @a -w x", "tune @a -f 0", "tune @a -b", "tune @a -t", "tune @a --beta", "dump @a b c", "dump @b", "dump", "dump -q @a", "restore", "restore a", "restore a b c", "restore -q a b",
		"xport", "xport -s 1200000000 -e 1200000100", "xport XPORT:a", "xport --foo", "xport -m 5 XPORT:a", "flushcached -q", "nosuch a", "help fetch", "CREATE a", "",
	))
	var words []string
	for w := range strings.FieldsSeq(line) {
		words = append(words, strings.ReplaceAll(w, "\x00", f.name))
	}
	if words == nil {
		words = []string{"nosuch", f.name}
	}
	if s.piped && len(words) == 1 {
		words = append(words, "")
	}
	return words
}

// xport prints columns of all series that are there.
func (s *script) xport() {
	var lines, names []string
	var f *file
	for i := range 1 + s.r.IntN(3) {
		of := s.known()
		if of.ds == nil {
			return
		}
		f = of
		v := fmt.Sprintf("d%d", i)
		lines = append(lines, fmt.Sprintf("DEF:%s=%s:%s:%s", v, s.named(of), of.ds[s.r.IntN(len(of.ds))].name, of.cfs[s.r.IntN(len(of.cfs))]))
		names = append(names, v)
	}
	for i := range s.r.IntN(4) {
		v := fmt.Sprintf("c%d", i)
		e := &expression{r: s.r, names: names, most: 30}
		lines = append(lines, "CDEF:"+v+"="+e.String())
		names = append(names, v)
	}
	for range 1 + s.r.IntN(3) {
		lines = append(lines, "XPORT:"+names[s.r.IntN(len(names))]+s.pick("", ":", ":leg", ":a text"))
	}
	for s.one(3) {
		lines = append(lines, s.pick("PRINT:", "GPRINT:")+names[s.r.IntN(len(names))]+s.pick(":AVERAGE:", ":MIN:", ":MAX:", ":LAST:")+s.pick("%.5le", "a %12.4lE|", "%.3lg%s", "%lf%lf"))
		if s.one(3) {
			lines = append(lines, s.pick("COMMENT:text", "LINE1:", "AREA:", "TICK:")+names[0]+s.pick("", "#ff0000", "#ff", "#00f:1:legend", ":x"))
		}
	}
	_, _, from, to := s.between(f)
	options := [][]string{s.option('s', "start", number(from)), s.option('e', "end", number(to))}
	for _, o := range []string{"json", "enumds"} {
		if s.one(3) {
			options = append(options, s.flag(0, o))
		}
	}
	if s.one(3) {
		options = append(options, s.flag('t', "showtime"))
	}
	if s.one(4) {
		options = append(options, s.option('m', "maxrows", number(10+s.r.Int64N(100))))
	}
	if s.one(4) {
		options = append(options, s.option(0, "step", number(1+s.r.Int64N(100))))
	}
	s.say("xport", options, lines...)
}
