package rrdcachedbench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// hostFiles is the number of files of one host.
const hostFiles = 20

// A form is how a program prints the values of a data source.
type form uint8

const (
	count   form = iota // a counter: all digits of a 64-bit integer
	whole               // a gauge of whole numbers, such as bytes
	hundred             // "%.2f": loads, percentages
	perl                // "%.15g", as Perl prints a number
	python              // the shortest digits that give the same double, as Python's repr
	full                // "%.17g", as a careful program in C
	power               // "%.10e", as rrdtool itself prints
	short               // "%.2e"
)

// A source is a data source and its present value.
type source struct {
	kind  string
	form  form
	v     float64 // a gauge
	n     uint64  // a counter
	scale float64 // mean increment of a counter; mean of a gauge
}

// A file is one file, or series, of the load.
type file struct {
	name    string
	phase   int64 // seconds of a step at which its host reads
	sources []source
}

// A kindOf says what a host's files are: name, and a form for each data source.
type kindOf struct {
	name  string
	forms []form
}

// kinds are the files of one host, in the proportions of a machine that collectd and a few scripts
// look after. Two of the twenty have exponents.
var kinds = [hostFiles]kindOf{
	{"interface-eth0/if_octets", []form{count, count}},
	{"interface-eth0/if_packets", []form{count, count}},
	{"interface-eth1/if_octets", []form{count, count}},
	{"disk-vda/disk_octets", []form{count, count}},
	{"disk-vda/disk_time", []form{count, count}},
	{"cpu-0/cpu-user", []form{count}},
	{"cpu-0/cpu-system", []form{count}},
	{"cpu-0/cpu-idle", []form{count}},
	{"contextswitch", []form{count}},
	{"load", []form{hundred, hundred, hundred}},
	{"memory/memory-used", []form{whole}},
	{"memory/memory-free", []form{whole}},
	{"df-root/df_complex-used", []form{whole}},
	{"percent-used", []form{hundred}},
	{"smokeping/median", []form{perl}},
	{"sensors/temperature", []form{perl}},
	{"app/latency", []form{python}},
	{"app/ratio", []form{full}},
	{"munin/open_inodes", []form{short}},
	{"ping/rtt", []form{power}},
}

// newFiles returns n files. Hosts have a phase each. What follows from the same seed is equal.
func newFiles(n int, seed uint64) []file {
	r := rand.New(rand.NewPCG(seed, 1))
	files := make([]file, n)
	phase := int64(0)
	for i := range files {
		host := i / hostFiles
		if i%hostFiles == 0 {
			phase = r.Int64N(step)
		}
		k := kinds[i%hostFiles]
		f := file{name: fmt.Sprintf("host%03d.example.org/%s.rrd", host, k.name), phase: phase}
		for _, form := range k.forms {
			f.sources = append(f.sources, newSource(form, r))
		}
		files[i] = f
	}
	return files
}

// newSource draws where a data source begins, and how fast it moves.
func newSource(f form, r *rand.Rand) source {
	s := source{kind: "GAUGE", form: f}
	switch f {
	case count:
		s.kind = "COUNTER"
		s.n = 1<<32 + r.Uint64N(1<<44)
		s.scale = math.Ldexp(1+r.Float64(), 6+r.IntN(15)) // 6 to 200,000 a second
	case whole:
		s.scale = math.Floor(math.Ldexp(1+r.Float64(), 20+r.IntN(16)))
	case hundred:
		s.scale = 100 * r.Float64()
	case short:
		s.scale = math.Ldexp(1+r.Float64(), 10+r.IntN(20))
	default:
		s.scale = math.Ldexp(1+r.Float64(), r.IntN(20)-10)
	}
	s.v = s.scale
	return s
}

// next moves a source on by one reading and prints it.
func (s *source) next(b []byte, r *rand.Rand) []byte {
	if s.form == count {
		s.n += uint64(s.scale * (0.75 + 0.5*r.Float64()))
		return strconv.AppendUint(b, s.n, 10)
	}
	s.v += (s.scale-s.v)*0.2 + (r.Float64()-0.5)*0.2*s.scale
	switch s.form {
	case whole:
		return strconv.AppendInt(b, int64(s.v)&^4095, 10)
	case hundred:
		return strconv.AppendFloat(b, s.v, 'f', 2, 64)
	case perl:
		return appendG(b, s.v, 15)
	case full:
		return appendG(b, s.v, 17)
	case power:
		return strconv.AppendFloat(b, s.v, 'e', 10, 64)
	case short:
		return strconv.AppendFloat(b, s.v, 'e', 2, 64)
	}
	return strconv.AppendFloat(b, s.v, 'f', -1, 64) // Python's repr, in the range of these values
}

// appendG prints v as C's "%.PRECISIONg" does.
func appendG(b []byte, v float64, precision int) []byte {
	text := strconv.FormatFloat(v, 'e', precision-1, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")
	e, err := strconv.Atoi(exponent)
	if err == nil && e >= -4 && e < precision {
		text = strconv.FormatFloat(v, 'f', precision-1-e, 64)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		return append(b, text...)
	}
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	return append(append(append(b, mantissa...), 'e'), exponent...)
}

// update prints the UPDATE of a round.
func (f *file) update(b []byte, round int64, r *rand.Rand) []byte {
	b = append(append(append(b, "UPDATE "...), f.name...), ' ')
	b = strconv.AppendInt(b, epoch+step*round+f.phase, 10)
	for i := range f.sources {
		b = f.sources[i].next(append(b, ':'), r)
	}
	return append(b, '\n')
}

// create prints the CREATE of a file. archives is 5, or 15 as collectd makes them.
func (f *file) create(b []byte, archives int) []byte {
	b = fmt.Appendf(b, "CREATE %s -s %d -b %d", f.name, step, epoch)
	for i, s := range f.sources {
		b = fmt.Appendf(b, " DS:ds%d:%s:600:U:U", i, s.kind)
	}
	if archives == 15 {
		for _, cf := range []string{"AVERAGE", "MIN", "MAX"} {
			for _, a := range []string{"1:1200", "7:1235", "50:1210", "223:1202", "2635:1201"} {
				b = fmt.Appendf(b, " RRA:%s:0.1:%s", cf, a)
			}
		}
		return append(b, '\n')
	}
	return append(b, " RRA:AVERAGE:0.5:1:1440 RRA:AVERAGE:0.5:6:1440 RRA:AVERAGE:0.5:60:1008 RRA:MAX:0.5:6:1440 RRA:MAX:0.5:60:1008\n"...)
}
