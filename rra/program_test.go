package rra

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A trial is a definition and update commands, made at random.
type trial struct {
	def      *Definition
	args     []string // the definition as rrdtool's create takes it
	start    int64
	commands [][]update
}

// An update is one reading as rrdtool's update takes it.
type update struct {
	at    string
	texts []string
}

func (u update) String() string { return u.at + ":" + strings.Join(u.texts, ":") }

// reading is u as Step takes it: times are read as rrdtool reads them.
func (u update) reading(d *Definition) (at Time, values []Value, texts []string) {
	f, err := ParseNumber(u.at)
	if err != nil {
		panic(err)
	}
	sec := math.Floor(f)
	i := 0
	for _, s := range d.Sources {
		if s.Kind != Compute {
			v, _ := ParseValue(s.Kind, u.texts[i], &texts)
			values = append(values, v)
			i++
		}
	}
	return Seconds(int64(sec)) + Time((f-sec)*1e6), values, texts
}

// each calls fn for every reading of t.
func (t *trial) each(fn func(at Time, values []Value, texts []string)) {
	for _, c := range t.commands {
		for _, u := range c {
			fn(u.reading(t.def))
		}
	}
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// newTrial makes one trial. With family, archives of the Holt-Winters family
// are among the rest.
func newTrial(r *rand.Rand, family bool) *trial {
	t := &trial{def: &Definition{}}
	t.def.Step = pick(r, 1, 5, 10, 60, 300, 1+r.Int64N(1000))
	t.start = 1_000_000_000 + r.Int64N(1_000_000)
	if r.IntN(4) == 0 {
		t.start -= t.start % t.def.Step
	}
	for i := range 1 + r.IntN(1+r.IntN(5)) {
		t.addSource(r, i)
	}
	for range 1 + r.IntN(6) {
		t.addArchive(r)
	}
	if family {
		t.addFamily(r)
	}
	t.addCommands(r, family)
	t.parse()
	return t
}

// parse replaces the definition by what its text says: rrdtool's doubles are not always the
// nearest.
func (t *trial) parse() {
	d, err := ParseDefinition(t.def.Step, t.args)
	if err != nil {
		panic(fmt.Sprintf("%v: %v", t.args, err))
	}
	t.def = d
}

func (t *trial) addSource(r *rand.Rand, i int) {
	s := DataSource{Name: string(rune('a' + i)), Kind: Kind(r.IntN(6)), Min: math.NaN(), Max: math.NaN()}
	if i > 0 && r.IntN(6) == 0 {
		s.Kind, s.Expr = Compute, expression(r, t.def.Sources)
		t.def.Sources = append(t.def.Sources, s)
		t.args = append(t.args, fmt.Sprintf("DS:%s:COMPUTE:%s", s.Name, s.Expr))
		return
	}
	s.Heartbeat = pick(r, 1+r.Int64N(t.def.Step), t.def.Step, 2*t.def.Step, 2*t.def.Step, 5*t.def.Step, 100*t.def.Step, 10_000_000)
	limits := []string{"U", "U"}
	if r.IntN(4) == 0 {
		s.Min = pick(r, 0.0, -10, 1, -1e6)
		limits[0] = strconv.FormatFloat(s.Min, 'f', -1, 64)
	}
	if r.IntN(4) == 0 {
		s.Max = pick(r, 10.0, 100, 1e6, 1e9)
		limits[1] = strconv.FormatFloat(s.Max, 'f', -1, 64)
	}
	t.def.Sources = append(t.def.Sources, s)
	kind := [...]string{"GAUGE", "COUNTER", "DERIVE", "DCOUNTER", "DDERIVE", "ABSOLUTE"}[s.Kind]
	t.args = append(t.args, fmt.Sprintf("DS:%s:%s:%d:%s:%s", s.Name, kind, s.Heartbeat, limits[0], limits[1]))
}

// expression makes an RPN expression of the sources before.
func expression(r *rand.Rand, before []DataSource) string {
	v := func() string {
		if r.IntN(4) == 0 {
			return strconv.Itoa(r.IntN(2000) - 1000)
		}
		return before[r.IntN(len(before))].Name
	}
	switch r.IntN(5) {
	case 0:
		return before[0].Name + "," + v() + "," + pick(r, "+", "-", "*", "/", "MIN", "MAX", "ADDNAN", "LT", "GE")
	case 1:
		return before[0].Name + ",UN,0," + v() + ",IF"
	case 2:
		return before[0].Name + "," + v() + "," + v() + ",LIMIT"
	case 3:
		return before[0].Name + "," + v() + ",+," + v() + ",*"
	}
	return v() + "," + before[0].Name + ",EXC,-,DUP,*"
}

func (t *trial) addArchive(r *rand.Rand) {
	a := Archive{
		CF:      CF(r.IntN(4)),
		XFF:     pick(r, 0, 0.1, 0.25, 0.5, 0.5, 0.9, 0.99, float64(r.IntN(1000))/1000),
		PDPs:    pick(r, 1, 1, 2, 3, 5, 6, 12, 60, 1+r.Int64N(100)),
		Rows:    1 + r.Int64N(pick[int64](r, 1, 3, 10, 50)),
		Partner: -1,
	}
	t.def.Archives = append(t.def.Archives, a)
	cf := [...]string{"AVERAGE", "MIN", "MAX", "LAST"}[a.CF]
	t.args = append(t.args, fmt.Sprintf("RRA:%s:%v:%d:%d", cf, a.XFF, a.PDPs, a.Rows))
}

func (t *trial) addCommands(r *rand.Rand, family bool) {
	now := t.start * 1e6
	sub := r.IntN(3) == 0
	jitter := r.IntN(3)
	gaps := pick(r, 0, 3, 20, 60)
	junk := pick(r, 0, 0, 0, 100)
	texts := make([]*readingSource, len(t.def.Sources))
	for i := range texts {
		texts[i] = newReadingSource(r, t.def.Sources[i].Kind, junk > 0)
	}
	n := 5 + r.IntN(60)
	if family {
		n += r.IntN(150)
	}
	step := t.def.Step * 1e6
	for range n {
		var c []update
		for range pick(r, 1, 1, 1, 2, 5) {
			move := step
			switch {
			case gaps > 0 && r.IntN(gaps) == 0:
				move = pick(r, step*(1+r.Int64N(4)), step*(1+r.Int64N(20)), 1e6*r.Int64N(30*86400), step*2, step*3)
			case jitter == 1 || jitter == 2 && r.IntN(3) == 0:
				move = r.Int64N(2*step) + 1
			case r.IntN(10) == 0:
				move = step/pick[int64](r, 2, 3, 10) + 1
			}
			switch {
			case sub && r.IntN(2) == 0:
				move += pick(r, r.Int64N(1e6), 500000, 250000, 1)
			case !sub:
				move = max(1e6, move-move%1e6)
			}
			if r.IntN(100) == 0 {
				move = -r.Int64N(step)
			}
			u := update{at: fmt.Sprintf("%d", (now+move)/1e6)}
			if us := (now + move) % 1e6; us != 0 {
				u.at = strings.TrimRight(fmt.Sprintf("%s.%06d", u.at, us), "0")
			}
			if move > 0 {
				now += move
			}
			for i := range texts {
				if t.def.Sources[i].Kind != Compute {
					u.texts = append(u.texts, texts[i].next(r))
				}
			}
			c = append(c, u)
		}
		t.commands = append(t.commands, c)
	}
}

// A readingSource makes texts of readings.
type readingSource struct {
	kind    Kind
	junk    bool
	style   int
	unknown int
	count   uint64
	prefix  string // digits above 64 bits
}

func newReadingSource(r *rand.Rand, k Kind, junk bool) *readingSource {
	return &readingSource{
		kind: k, junk: junk, style: r.IntN(9), unknown: pick(r, 5, 10, 50, 1000),
		count: pick(r, 0, r.Uint64N(1e6), 1<<32-r.Uint64N(1e6), math.MaxUint64-r.Uint64N(1e6), 1<<53+r.Uint64N(1000), r.Uint64()),
	}
}

func (s *readingSource) next(r *rand.Rand) string {
	if r.IntN(s.unknown) == 0 {
		return pick(r, "U", "U", "U", "UNKN")
	}
	if s.junk && r.IntN(30) == 0 {
		return pick(r, "x", "", "1y", "-", "1e", "5 ", "+3", "007", "1.5", "-7", "nan", "0x10", "-0",
			"123456789012345678901234567890123", "12345678901234567890.123456789012345")
	}
	if s.kind == Counter || s.kind == Derive {
		return s.integer(r)
	}
	return s.float(r)
}

func (s *readingSource) integer(r *rand.Rand) string {
	s.count += pick(r, 0, r.Uint64N(10), r.Uint64N(1e6), r.Uint64N(1<<33))
	switch r.IntN(60) {
	case 0:
		s.count = r.Uint64N(1000)
	case 1:
		s.count = r.Uint64()
	case 2:
		s.count = uint64(uint32(s.count))
	}
	if s.style == 0 && s.kind == Derive {
		return strconv.FormatInt(int64(s.count>>1)-1<<62, 10)
	}
	if s.style == 1 {
		if r.IntN(5) == 0 {
			s.prefix = strconv.Itoa(r.IntN(100000))
		}
		return s.prefix + fmt.Sprintf("%020d", s.count)
	}
	return strconv.FormatUint(s.count, 10)
}

func (s *readingSource) float(r *rand.Rand) string {
	switch s.style {
	case 0:
		return strconv.Itoa(r.IntN(1000))
	case 1:
		return fmt.Sprintf("%.2f", r.Float64()*1000-200)
	case 2:
		return strconv.FormatFloat(r.NormFloat64()*100, 'g', -1, 64)
	case 3:
		return strconv.FormatFloat(r.NormFloat64()*pick(r, 1e300, 1e-300, 1e-320, 1, 1e17), 'g', -1, 64)
	case 4:
		return pick(r, "1", "0", "-0", "5", "-5", ".5", "5.", "1e3", "1e", "inf", "-inf", "nan", "3e-2", " 7", "1E2", "100000000000000000000")
	case 5:
		s.count += r.Uint64N(1000)
		return strconv.FormatUint(s.count, 10)
	case 6:
		s.count += r.Uint64N(1000)
		return fmt.Sprintf("%d.%d", s.count%1e9, r.IntN(1000))
	case 7: // as C, Perl and Python print
		f := r.NormFloat64() * math.Pow(10, float64(r.IntN(24)-12))
		return fmt.Sprintf(pick(r, "%f", "%.3f", "%e", "%.2e", "%.15g", "%.17g"), pick(r, f, f, math.Round(f)))
	}
	return strconv.FormatFloat(math.Sin(float64(r.IntN(1000)))*50+100, 'f', 3, 64)
}

// addImplied adds a predictor that brings its four companions along.
func (t *trial) addImplied(r *rand.Rand) {
	base, period := len(t.def.Archives), 2+r.Int64N(20)
	model := Archive{
		CF: pick(r, HWPredict, MHWPredict), PDPs: 1, Rows: period + r.Int64N(50), Partner: base + 1,
		Alpha: float64(1+r.IntN(98)) / 100, Beta: float64(1+r.IntN(98)) / 100,
	}
	// Files of version 4 and 5 have a smoothing window, and this one is 0.
	window := math.NaN()
	if model.CF == MHWPredict || slices.ContainsFunc(t.def.Sources, func(s DataSource) bool { return s.Kind == DCounter || s.Kind == DDerive }) {
		window = 0
	}
	seasonal := Archive{CF: Seasonal, PDPs: 1, Rows: period, Gamma: model.Alpha, SmoothingWindow: window, Partner: base}
	dev := seasonal
	dev.CF = DevSeasonal
	t.def.Archives = append(t.def.Archives, model, seasonal, dev,
		Archive{CF: DevPredict, PDPs: 1, Rows: model.Rows, Partner: base + 2},
		Archive{CF: Failures, PDPs: 1, Rows: period, Threshold: 7, Window: 9, DeltaPos: 2, DeltaNeg: 2, Partner: base + 2})
	t.args = append(t.args, fmt.Sprintf("RRA:%s:%d:%v:%v:%d", model.CF, model.Rows, model.Alpha, model.Beta, period))
}

// addFamily adds archives of the Holt-Winters family, in any order.
func (t *trial) addFamily(r *rand.Rand) {
	if r.IntN(5) == 0 {
		t.addImplied(r)
		return
	}
	kinds := []CF{pick(r, HWPredict, MHWPredict), Seasonal}
	if r.IntN(4) > 0 {
		kinds = append(kinds, DevSeasonal)
		for range r.IntN(3) {
			kinds = append(kinds, pick(r, DevPredict, Failures))
		}
	}
	if r.IntN(2) == 0 {
		r.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	}
	base := len(t.def.Archives)
	at := make(map[CF]int)
	for i, k := range kinds {
		if k == MHWPredict {
			k = HWPredict
		}
		at[k] = base + i
	}
	period := pick(r, 2+r.Int64N(3), 2+r.Int64N(10), 2+r.Int64N(40))
	rows := period + r.Int64N(50)
	unit := func() float64 { return float64(1+r.IntN(98)) / 100 }
	smoothing := r.IntN(3)
	for _, k := range kinds {
		a := Archive{CF: k, PDPs: 1, Rows: rows, SmoothingWindow: math.NaN()}
		switch k {
		case HWPredict, MHWPredict:
			a.Alpha, a.Beta, a.Partner = unit(), unit(), at[Seasonal]
			name := map[CF]string{HWPredict: "HWPREDICT", MHWPredict: "MHWPREDICT"}[k]
			t.args = append(t.args, fmt.Sprintf("RRA:%s:%d:%v:%v:%d:%d", name, rows, a.Alpha, a.Beta, period, a.Partner+1))
		case Seasonal, DevSeasonal:
			a.Rows, a.Gamma, a.Partner = period, unit(), at[HWPredict]
			name := map[CF]string{Seasonal: "SEASONAL", DevSeasonal: "DEVSEASONAL"}[k]
			arg := fmt.Sprintf("RRA:%s:%d:%v:%d", name, period, a.Gamma, a.Partner+1)
			if smoothing == 0 || smoothing == 1 && r.IntN(2) == 0 {
				a.SmoothingWindow = pick(r, 0, unit(), unit(), 1)
				arg += fmt.Sprintf(":smoothing-window=%v", a.SmoothingWindow)
			}
			t.args = append(t.args, arg)
		case DevPredict:
			a.Partner = at[DevSeasonal]
			t.args = append(t.args, fmt.Sprintf("RRA:DEVPREDICT:%d:%d", rows, a.Partner+1))
		case Failures:
			a.Window = 1 + r.IntN(min(maxWindow, int(rows)))
			a.Threshold = 1 + r.IntN(a.Window)
			a.DeltaPos, a.DeltaNeg, a.Partner = 2, 2, at[DevSeasonal]
			t.args = append(t.args, fmt.Sprintf("RRA:FAILURES:%d:%d:%d:%d", rows, a.Threshold, a.Window, a.Partner+1))
		}
		t.def.Archives = append(t.def.Archives, a)
	}
}
