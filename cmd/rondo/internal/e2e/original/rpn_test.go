package original

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// An expression is random RPN that leaves one value.
type expression struct {
	r       *rand.Rand
	names   []string
	most    int  // words
	compute bool // of a COMPUTE data source, which knows neither times nor other rows
	right   bool // without a mistake
}

// String makes an expression. A COMPUTE source has room for 19 words.
func (e *expression) String() string {
	for {
		if text := e.any(); !e.compute || strings.Count(text, ",") < 19 {
			return text
		}
	}
}

// any makes an expression: one of the names first, since one without any is refused.
func (e *expression) any() string {
	words := []string{e.names[e.r.IntN(len(e.names))]}
	depth := 1
	for len(words) < e.most-6 && e.r.IntN(8) > 0 {
		more, gives := e.step(depth)
		words, depth = append(words, more...), depth+gives
	}
	for ; depth > 1; depth-- {
		words = append(words, e.pick("+", "-", "*", "MIN", "MAX", "ADDNAN", "MAXNAN", "GT", "EXC,POP"))
	}
	if !e.right && e.r.IntN(60) == 0 {
		words = append(words, e.pick("+", "foo", "", "5", "POP", "IF", "1,2"))
	}
	return strings.Join(words, ",")
}

func (e *expression) pick(of ...string) string { return of[e.r.IntN(len(of))] }

// operand is a word that pushes a value.
func (e *expression) operand() string {
	switch e.r.IntN(6) {
	case 0:
		return e.pick("UNKN", "INF", "NEGINF", "DEPTH")
	case 1:
		if e.compute {
			return strconv.Itoa(e.r.IntN(200) - 100)
		}
		return e.pick("TIME", "COUNT", "STEPWIDTH", "LTIME", "NEWDAY", "NEWWEEK", "NEWMONTH", "NEWYEAR", "PREV")
	case 2:
		if e.compute {
			return e.pick("0", "1", "-32768", "32767")
		}
		return e.pick("0", "1", "2.5", "-3", "1e3", "0.1", "1e-7", "123456.789")
	}
	return e.names[e.r.IntN(len(e.names))]
}

// step is a few words, and how many values they leave beyond what was there.
func (e *expression) step(depth int) (words []string, gives int) {
	n := 1 + e.r.IntN(depth)
	count := strconv.Itoa(n)
	switch e.r.IntN(12) {
	case 0, 1:
		return []string{e.pick("SQRT", "FLOOR", "CEIL", "ABS", "RAD2DEG", "DEG2RAD", "UN", "ISINF", "DUP,+", "DUP,POP")}, 0
	case 2:
		return []string{e.operand(), e.operand(), e.pick("IF", "LIMIT")}, 0
	case 3:
		return []string{count, e.pick("SORT", "REV")}, 0
	case 4:
		return []string{count, e.pick("AVG", "STDEV", "SMIN", "SMAX")}, 1 - n
	case 5:
		return []string{strconv.Itoa(50 + e.r.IntN(51)), count, "PERCENT"}, 1 - n
	case 6:
		return []string{count, "COPY"}, n
	case 7:
		return []string{count, "INDEX"}, 1
	case 8:
		return []string{"DUP"}, 1
	}
	return []string{e.operand(), e.pick("+", "-", "*", "/", "%", "LT", "LE", "GT", "GE", "EQ", "NE", "MIN", "MAX", "MINNAN", "MAXNAN", "ADDNAN", "EXC,-")}, 0
}
