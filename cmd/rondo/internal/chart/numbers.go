package chart

import (
	"math"
	"strconv"
	"strings"
)

// Units are the prefixes that numbers are printed with.
type Units struct {
	Binary bool // Ki, Mi, Gi, which are powers of 1024; else k, M, G
	ASCII  bool // u for µ
}

const (
	smallest = -5 // powers of the base that have a prefix
	largest  = 8
)

var (
	decimalNames = []string{"f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E", "Z", "Y"}
	binaryNames  = []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"}
)

// power returns the power of the base in which a size has one to three (or four) digits before the
// point.
func (u Units) power(size float64) int {
	if size == 0 || math.IsInf(size, 0) || math.IsNaN(size) {
		return 0
	}
	if u.Binary {
		return min(max(int(math.Floor(math.Log2(size)/10)), 0), largest)
	}
	return min(max(int(math.Floor(math.Log10(size)/3+1e-9)), smallest), largest)
}

func (u Units) name(power int) string {
	switch {
	case u.Binary:
		return binaryNames[power]
	case u.ASCII && power == -2:
		return "u"
	}
	return decimalNames[power-smallest]
}

func (u Units) factor(power int) float64 {
	if u.Binary {
		return math.Pow(1024, float64(power))
	}
	return math.Pow(1000, float64(power))
}

// Number prints a value with four digits that count: 12.35k, 0.5, -3.2M. An unknown value is "-".
func (u Units) Number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case math.IsInf(v, 0):
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 0, 64), "inity")
	}
	size := math.Abs(v)
	p := u.power(size)
	if size >= 0.001 && size < 1 {
		p = 0
	}
	text := short(v / u.factor(p))
	if rounded, _ := strconv.ParseFloat(text, 64); math.Abs(rounded) >= u.factor(1) && p < largest {
		p++
		text = short(v / u.factor(p))
	}
	return text + u.name(p)
}

// short prints a number with at most four digits that count.
func short(v float64) string {
	if size := math.Abs(v); size != 0 && (size < 1e-3 || size >= 1e6) {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	text := strconv.FormatFloat(v, 'g', 4, 64)
	if strings.ContainsAny(text, "e") {
		text = strconv.FormatFloat(v, 'f', 0, 64)
	}
	return text
}
