package graphdata

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// The formats of durations and times where none is given.
const (
	defaultDuration  = "%H:%02m:%02s"
	defaultTimestamp = "%Y-%m-%d %H:%M:%S"
)

// maxDuration is how many bytes of a formatted duration are kept.
const maxDuration = 199

// FormatDuration formats a number of milliseconds: %W weeks, %d days of the week, %D days, %h hours
// of the day, %H hours, %m minutes of the hour, %M minutes, %s seconds of the minute, %S seconds,
// %f milliseconds of the second, with a width and a precision as printf has them; an empty format
// is %H:%02m:%02s. It is not ok if there is another conversion in the format.
func FormatDuration(format string, v float64, point Point) (text string, ok bool) {
	if v-v != 0 {
		return string(CFormat{}.plain(v)), true
	}
	if format == "" {
		format = defaultDuration
	}
	var b strings.Builder
	if v < 0 {
		b.WriteByte('-')
	}
	v = math.Abs(v) // of -0, too, which has no sign
	for format != "" {
		before, rest, more := strings.Cut(format, "%")
		b.WriteString(before)
		if !more {
			break
		}
		zeros := strings.HasPrefix(rest, "0")
		width, rest, _ := leadingNumber(rest)
		precision := 0
		if strings.HasPrefix(rest, ".") {
			precision, rest, _ = leadingNumber(rest[1:])
		}
		if rest == "" {
			return "", false
		}
		letter := rest[0]
		format = rest[1:]
		if letter == '%' {
			b.WriteByte('%')
			continue
		}
		part, known := durationPart(letter, v)
		if !known {
			return "", false
		}
		if b.Len() < maxDuration {
			appendPart(&b, part, min(width, maxFormat), min(precision, maxFormat), zeros, point)
		}
	}
	return cut(b.String(), maxDuration), true
}

// durationPart is what a conversion shows of a number of milliseconds.
func durationPart(letter byte, v float64) (float64, bool) {
	switch letter {
	case 'W':
		return v / 604800000, true
	case 'd':
		return math.Mod(v/86400000, 7), true
	case 'D':
		return v / 86400000, true
	case 'h':
		return math.Mod(v/3600000, 24), true
	case 'H':
		return v / 3600000, true
	case 'm':
		return math.Mod(v/60000, 60), true
	case 'M':
		return v / 60000, true
	case 's':
		return math.Mod(v/1000, 60), true
	case 'S':
		return v / 1000, true
	case 'f':
		return math.Mod(v, 1000), true
	}
	return 0, false
}

// appendPart writes a number cut off, not rounded, behind its last digit.
func appendPart(b *strings.Builder, v float64, width, precision int, zeros bool, point Point) {
	if p := math.Pow(10, float64(precision)); v*p < 1<<53 {
		v = math.Trunc(v*p) / p
	}
	text := strconv.FormatFloat(v, 'f', precision, 64)
	if missing := width - len(text); missing > 0 {
		pad := " "
		if zeros {
			pad = "0"
		}
		b.WriteString(strings.Repeat(pad, missing))
	}
	b.WriteString(point.In(text))
}

// plain is a number as printf's %f has it.
func (CFormat) plain(v float64) string {
	return CFormat{format{precision: -1, verb: 'f'}}.number(v)
}

// gmt is UTC with the name that %Z of C's gmtime has.
var gmt = time.FixedZone("GMT", 0)

// FormatTimestamp formats a number of seconds since 1970 as a time in UTC, as strftime does; an
// empty format is %Y-%m-%d %H:%M:%S. A number that no time can be is printed as it is.
func (n *Names) FormatTimestamp(format string, v float64) string {
	if v-v != 0 {
		return CFormat{}.plain(v)
	}
	if v < math.MinInt64 || v >= math.MaxInt64 || math.Abs(v) > lastSecond {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	if format == "" {
		format = defaultTimestamp
	}
	if n == nil {
		n = POSIXNames
	}
	return cut(n.Strftime(format, time.Unix(int64(v), 0).In(gmt)), maxDuration)
}

// lastSecond is how far from 1970 a time may be, in seconds.
const lastSecond = 1 << 55

// dashesOf returns the text for a time that does not exist. Each conversion of the format becomes
// dashes: as many as its text would have characters, if that number is always the same.
func dashesOf(format string) string {
	var b strings.Builder
	for {
		before, rest, more := strings.Cut(format, "%")
		b.WriteString(before)
		if !more {
			return b.String()
		}
		if rest == "" {
			b.WriteByte('-')
			return b.String()
		}
		letter := rest[0]
		format = rest[1:]
		switch letter {
		case '%':
			b.WriteByte('%')
		case ' ', '.', '@': // these are no conversions
			b.WriteByte('%')
			b.WriteByte(letter)
		case 'n':
			b.WriteString("\r\n")
		case 't':
			b.WriteByte('\t')
		case 'C', 'd', 'g', 'H', 'I', 'm', 'M', 'S', 'U', 'V', 'W', 'y':
			b.WriteString("--")
		case 'j':
			b.WriteString("---")
		case 'G', 'Y':
			b.WriteString("----")
		case 'D':
			b.WriteString("--/--/--")
		case 'F':
			b.WriteString("----------")
		case 'R':
			b.WriteString("--:--")
		case 'T':
			b.WriteString("--:--:--")
		default:
			b.WriteByte('-')
			if (letter == 'E' || letter == 'O') && format != "" {
				format = format[1:]
			}
		}
	}
}
