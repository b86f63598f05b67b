package attime_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

func pick(r *rand.Rand, s ...string) string { return s[r.IntN(len(s))] }

func num(r *rand.Rand, n int) string { return strconv.Itoa(r.IntN(n)) }

var (
	unitWords = []string{
		"s", "sec", "second", "seconds", "m", "m", "min", "minute", "minutes", "h", "hr", "hour", "hours",
		"d", "day", "days", "w", "wk", "week", "weeks", "mon", "month", "months", "y", "yr", "year", "years",
	}
	dayWords = []string{
		"mon", "tue", "wed", "thu", "fri", "sat", "sun", "monday", "Friday", "SUNDAY", "wednesday",
		"today", "tomorrow", "yesterday",
	}
	monthWords = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "January", "MARCH", "september", "december"}
	blanks     = []string{"", "", " ", " ", "_", ",", "  "}
)

func year(r *rand.Rand) string {
	return pick(r, num(r, 100), fmt.Sprintf("%02d", r.IntN(100)), strconv.Itoa(1985+r.IntN(60)), strconv.Itoa(1960+r.IntN(300)), num(r, 2000))
}

func clock(r *rand.Rand) string {
	s := pick(r, num(r, 26), fmt.Sprintf("%02d", r.IntN(24)), num(r, 24)+":"+num(r, 62), fmt.Sprintf("%02d:%02d", r.IntN(24), r.IntN(60)))
	if r.IntN(3) == 0 {
		s += pick(r, "", " ") + pick(r, "am", "pm", "AM", "PM")
	}
	return s
}

func date(r *rand.Rand) string {
	switch r.IntN(6) {
	case 0:
		return num(r, 14) + "/" + num(r, 33) + "/" + year(r)
	case 1:
		return num(r, 33) + "." + num(r, 14) + "." + year(r)
	case 2:
		return fmt.Sprintf("%04d%02d%02d", 1965+r.IntN(140), r.IntN(14), r.IntN(33))
	case 3:
		s := pick(r, monthWords...) + pick(r, " ", "_", "") + num(r, 33)
		if r.IntN(2) == 0 {
			s += pick(r, " ", ", ") + year(r)
		}
		return s
	case 4:
		return pick(r, dayWords...)
	}
	return strconv.Itoa(r.IntN(3e9))
}

func offsets(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString(pick(r, blanks...) + pick(r, "+", "-"))
	for i := range 1 + r.IntN(3) {
		if i > 0 {
			b.WriteString(pick(r, "", "", "+", "-"))
		}
		b.WriteString(pick(r, blanks...) + pick(r, num(r, 10), num(r, 10), num(r, 100), num(r, 100000)))
		b.WriteString(pick(r, blanks...))
		if r.IntN(8) == 0 {
			b.WriteString(pick(r, "-", "+", " 5", "noon", "mon ", "x", "") + pick(r, num(r, 10), "")) // no unit
			continue
		}
		b.WriteString(pick(r, unitWords...))
	}
	return b.String()
}

// randomSpec is a time that is right more often than not, or words thrown together.
func randomSpec(r *rand.Rand) string {
	if r.IntN(4) == 0 {
		return thrown(r)
	}
	var s string
	switch r.IntN(8) {
	case 0:
		s = pick(r, "now", "n", "NOW")
	case 1:
		s = pick(r, "noon", "midnight", "teatime", "Noon")
		if r.IntN(2) == 0 {
			s += pick(r, blanks...) + date(r)
		}
	case 2:
		s = clock(r)
	case 3:
		s = clock(r) + pick(r, blanks...) + date(r)
	case 4:
		s = date(r) + pick(r, blanks...) + clock(r)
	case 5:
		s = date(r)
	case 6:
		s = pick(r, "epoch+"+num(r, 200)+"y", "start", "end", "s", "e")
	}
	if r.IntN(2) == 0 {
		s += offsets(r)
	}
	return s
}

func thrown(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(6) {
		switch r.IntN(9) {
		case 0:
			b.WriteString(pick(r, unitWords...))
		case 1:
			b.WriteString(pick(r, dayWords...))
		case 2:
			b.WriteString(pick(r, monthWords...))
		case 3:
			b.WriteString(pick(r, "now", "n", "start", "s", "end", "e", "epoch", "noon", "midnight", "teatime", "am", "pm"))
		case 4, 5:
			b.WriteString(pick(r, num(r, 10), num(r, 40), num(r, 3000), num(r, 1e8), num(r, 4e9), fmt.Sprintf("%02d", r.IntN(60))))
		case 6, 7:
			b.WriteString(pick(r, "+", "-", ":", "/", ".", "-", "+"))
		case 8:
			b.WriteString(pick(r, "x", "xy", "foo", "!", "é", "(", "thurs", "sept"))
		}
		b.WriteString(pick(r, "", " ", " ", "_", ","))
	}
	return b.String()
}

// randomEnd is one end of a range; which it is called says other.
func randomEnd(r *rand.Rand, self string) string {
	other := "end"
	if self == "end" {
		other = "start"
	}
	switch r.IntN(10) {
	case 0, 1, 2:
		return pick(r, other, other[:1]) + offsets(r)
	case 3:
		if r.IntN(4) == 0 {
			return pick(r, self, self[:1]) + offsets(r)
		}
	case 4:
		return strconv.Itoa(4e8 + r.IntN(3e9))
	}
	return randomSpec(r)
}
