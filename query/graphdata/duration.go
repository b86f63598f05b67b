package graphdata

import (
	"cmp"
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
		part, known := durationParts[letter]
		if !known {
			return "", false
		}
		shown := v / part[0]
		if part[1] > 0 {
			shown = math.Mod(shown, part[1])
		}
		if b.Len() < maxDuration {
			appendPart(&b, shown, min(width, maxFormat), min(precision, maxFormat), zeros, point)
		}
	}
	return cut(b.String(), maxDuration), true
}

// durationParts are the parts of a duration that conversions show: by how many milliseconds it is
// divided, and what the quotient is reduced by; 0: it is not.
var durationParts = map[byte][2]float64{
	'W': {604800000, 0}, 'd': {86400000, 7}, 'D': {86400000, 0}, 'h': {3600000, 24}, 'H': {3600000, 0},
	'm': {60000, 60}, 'M': {60000, 0}, 's': {1000, 60}, 'S': {1000, 0}, 'f': {1, 1000},
}

// appendPart writes a number cut off, not rounded, behind its last digit.
func appendPart(b *strings.Builder, v float64, width, precision int, zeros bool, point Point) {
	if p := math.Pow(10, float64(precision)); v*p < 1<<53 {
		v = math.Trunc(v*p) / p
	}
	fill := " "
	if zeros {
		fill = "0"
	}
	b.WriteString(point.In(padded(strconv.FormatFloat(v, 'f', precision, 64), width, fill)))
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
		b.WriteString(cmp.Or(dashes[letter], "-"))
		if (letter == 'E' || letter == 'O') && format != "" {
			format = format[1:]
		}
	}
}

// dashes are what stands for conversions, but for those that become one dash. Some letters are no
// conversions.
var dashes = func() map[byte]string {
	m := map[byte]string{
		'%': "%", ' ': "% ", '.': "%.", '@': "%@", 'n': "\r\n", 't': "\t", 'j': "---", 'G': "----", 'Y': "----",
		'D': "--/--/--", 'F': "----------", 'R': "--:--", 'T': "--:--:--",
	}
	for _, letter := range []byte("CdgHImMSUVWy") {
		m[letter] = "--"
	}
	return m
}()
