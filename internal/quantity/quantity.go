// Package quantity writes numbers with their units for people: "1.21 GiB", "1013.2 hPa",
// "12 d 4 h". The script of the page, query/web/assets/format.js, writes the same; both are tested
// with query/web/testdata/numbers.json.
package quantity

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	// short are the units that stand behind their prefix: 12 MiB/s. Words follow the number.
	short = regexp.MustCompile(`^(B|B/s|b|b/s|bit|bit/s|bps|s|Hz|W|J|Wh|VA|pkt/s|g|l)$`)
	// never are the units that take no prefix.
	never = regexp.MustCompile(`(?i)^(%|°.*|[CFK]|deg.*|celsius|h?Pa|m?bar|m?[VA]|dBm?|rpm|ratio|pH|ppm|ppb|lx|mm|cm|m|h|d|min|[mµun]s|s/s|[kKMGT]i?(B|bit|b|Hz|W)(/s)?)$`)

	decimal = []string{"", "k", "M", "G", "T", "P", "E"}
	binary  = []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
	parts   = []string{"", "m", "µ", "n"}
)

// lengths are the seconds of longer units of time.
var lengths = map[string]float64{"min": 60, "h": 3600, "d": 86400}

// space is narrow, and no line ends there.
const space = "\u202f"

const (
	plain = iota
	duration
	date
	exponent
)

// Prefixed reports whether values in a unit may have a prefix such as k or Mi.
func Prefixed(unit string) bool { return !never.MatchString(unit) }

// suffixes are ends of names that say a unit, as Prometheus' naming has them.
var suffixes = map[string]string{
	"bytes": "B", "seconds": "s", "ratio": "ratio", "celsius": "°C", "percent": "%", "hertz": "Hz", "volts": "V", "amperes": "A",
	"watts": "W", "joules": "J", "pascals": "Pa", "rpm": "rpm",
}

// UnitOf returns the unit that the name of a metric says: B of node_memory_MemFree_bytes and of
// node_network_receive_bytes_total{device="eth0"}, °C of celsius. It is empty if the name says
// none.
func UnitOf(name string) string {
	name, _, _ = strings.Cut(name, "{")
	name = strings.TrimSuffix(name, "_total")
	return suffixes[name[strings.LastIndexByte(name, '_')+1:]]
}

// A Scale says how values that stand together are written: with one prefix, and with as many
// decimals as distinguish a hundredth of their spread.
type Scale struct {
	kind    int
	divisor float64
	prefix  string
	places  int
	unit    string
	base    float64
}

// Of returns the scale of values in a unit. Base is 1000 or 1024; 0 means 1024 for B alone.
func Of(unit string, base int, values ...float64) Scale {
	low, high, whole := math.Inf(1), math.Inf(-1), true
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high, whole = min(low, v), max(high, v), whole && v == math.Trunc(v)
		}
	}
	s := Scale{divisor: 1, unit: unit, base: 1000}
	if base == 1024 || base == 0 && unit == "B" {
		s.base = 1024
	}
	size, alone := max(math.Abs(low), math.Abs(high)), low == high
	switch {
	case low > high || size == 0:
		return s
	case lengths[unit] > 0:
		s.kind, s.divisor = duration, 1/lengths[unit]
		return s
	case unit == "s" && low >= 1e9 && high < 5e9:
		s.kind = date
		return s
	case unit == "s" && size >= 60:
		s.kind = duration
		return s
	}
	s.choose(size)
	size /= s.divisor
	if size >= 1e15 || size < 5e-4 {
		s.kind = exponent
		return s
	}
	spread := (high - low) / s.divisor
	if alone {
		spread = size
	}
	s.places = placesOf(spread)
	if alone && size >= 0.0995 {
		s.places = min(2, s.places)
	}
	if alone && !Prefixed(unit) && size < 1e4 { // 1013.2 hPa
		s.places = max(1, s.places)
	}
	if whole && s.divisor == 1 || alone && size == math.Trunc(size) {
		s.places = 0
	}
	return s
}

// choose chooses the prefix for the largest value.
func (s *Scale) choose(size float64) {
	k := 0
	switch {
	case s.unit == "s":
		if size < 0.9995 {
			k = min(len(parts)-1, int(math.Ceil(-math.Log10(size/0.9995)/3)))
		}
		s.divisor, s.prefix = math.Pow(1000, float64(-k)), parts[k]
	case never.MatchString(s.unit):
	default:
		names, most := decimal, 999.5
		if s.base == 1024 {
			names, most = binary, 1023.5
		}
		for k < len(names)-1 && size/math.Pow(s.base, float64(k)) >= most { // 999.5 k is written 1.00 M
			k++
		}
		s.divisor, s.prefix = math.Pow(s.base, float64(k)), names[k]
	}
}

func placesOf(spread float64) int {
	if n := slices.IndexFunc([]float64{1, 0.1, 0.01}, func(v float64) bool { return v <= spread/101 }); n >= 0 {
		return n
	}
	return 3
}

// Text returns a value on the scale, with its unit. An unknown value is a dash. What is too small
// for the scale has a prefix of its own.
func (s Scale) Text(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "−∞"
	case s.kind == date:
		return time.Unix(int64(v), 0).UTC().Format("2006-01-02 15:04")
	case s.kind == duration:
		if s.unit = "s"; math.Abs(v/s.divisor) >= 1 {
			return Duration(v / s.divisor)
		}
		if v != 0 {
			s.places = 3
		}
	case s.kind == exponent && v != 0:
		digits, power, _ := strings.Cut(strconv.FormatFloat(v/s.divisor, 'e', 2, 64), "e")
		return s.with(minus(digits + "e" + strings.TrimLeft(power[:1], "") + strings.TrimLeft(power[1:], "0")))
	case v == 0 && s.divisor != 1:
		s.prefix, s.places = "", 0 // 0/s, not 0.0k/s
	case v != 0 && (s.divisor != 1 || s.unit == "s") && math.Abs(v)/s.divisor < 0.5*math.Pow(10, float64(-s.places)):
		if own := Of(s.unit, int(s.base), v); own.divisor != s.divisor {
			return own.Text(v)
		}
	}
	return s.with(fixed(v/s.divisor, s.places))
}

// Tick returns a value of an axis whose ticks are a step apart: without the unit, and with the
// decimals that the step needs.
func (s Scale) Tick(v, step float64) string {
	switch {
	case v == 0 || math.Abs(v) < step/1e6:
		return "0"
	case s.kind != plain:
		return s.Text(v)
	}
	step /= s.divisor
	for s.places = 0; s.places < 6 && math.Abs(math.Round(step)-step) > 1e-6*step; s.places++ {
		step *= 10
	}
	return fixed(v/s.divisor, s.places) + s.prefix
}

// Plain returns a text of this package for a terminal, with the space and the hyphen of a keyboard.
func Plain(text string) string { return common.Replace(text) }

var common = strings.NewReplacer(space, " ", "−", "-", "–", "-")

// Text returns a value that stands alone, with about three digits.
func Text(v float64, unit string) string { return Of(unit, 0, v).Text(v) }

func (s Scale) with(number string) string {
	switch {
	case s.unit == "":
		return number + s.prefix
	case strings.HasPrefix(strings.TrimPrefix(s.unit, "1"), "/"):
		return number + s.prefix + strings.TrimPrefix(s.unit, "1") // 2.6k/s
	case short.MatchString(s.unit):
		return number + space + s.prefix + s.unit
	}
	return number + s.prefix + space + s.unit
}

// fixed writes a number with commas and so many decimals.
func fixed(v float64, places int) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', places, 64)
	whole, rest, _ := strings.Cut(text, ".")
	if len(whole) > 4 {
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
	}
	if rest != "" {
		whole += "." + rest
	}
	if v < 0 && strings.ContainsAny(whole, "123456789") {
		return "−" + whole
	}
	return whole
}

func minus(text string) string { return strings.Replace(text, "-", "−", 1) }

// Duration writes seconds in two parts at most: "12 d 4 h", "1 h 22 min", "4.2 s".
func Duration(seconds float64) string {
	size, sign := math.Abs(seconds), ""
	if seconds < 0 {
		sign = "−"
	}
	if size < 59.5 {
		digits := 0
		if size < 9.95 {
			digits = 1
		}
		return sign + strconv.FormatFloat(math.Round(size*math.Pow10(digits))/math.Pow10(digits), 'f', -1, 64) + space + "s"
	}
	names, lengths := []string{"y", "d", "h", "min", "s"}, []float64{365 * 86400, 86400, 3600, 60, 1}
	first := slices.IndexFunc(lengths, func(l float64) bool { return size >= l*0.9999 })
	finest := lengths[min(first+1, len(lengths)-1)]
	size = math.Round(size/finest) * finest
	first = slices.IndexFunc(lengths, func(l float64) bool { return size >= l })
	count := math.Floor(size / lengths[first])
	text := sign + strconv.FormatFloat(count, 'f', 0, 64) + space + names[first]
	if first+1 == len(lengths) {
		return text
	}
	if rest := math.Round((size - count*lengths[first]) / lengths[first+1]); rest > 0 {
		text += space + strconv.FormatFloat(rest, 'f', 0, 64) + space + names[first+1]
	}
	return text
}
