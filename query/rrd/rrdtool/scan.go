package rrdtool

import (
	"math"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/query/rrd/numeral"
	"github.com/rondo-db/rondo/rra"
)

// limitCharacters are the characters that rrdtool accepts in a limit.
const limitCharacters = "0123456789.e+-U"

// tunedLimit reads a minimum or maximum.
func tunedLimit(text string) (float64, error) {
	word := leadingOf(text, limitCharacters)
	if word == "U" {
		return math.NaN(), nil
	}
	if word == "" {
		return 0, strconv.ErrSyntax
	}
	return rra.ParseNumber(word)
}

// leadingOf returns the beginning of text that consists of the given characters.
func leadingOf(text, characters string) string {
	return text[:len(text)-len(strings.TrimLeft(text, characters))]
}

const nameCharacters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"

// leadingName cuts the name of a data source, of at most 19 characters, off the beginning of text.
func leadingName(text string) (name, rest string) {
	name = leadingOf(text, nameCharacters)
	name = name[:min(len(name), 19)]
	return name, text[len(name):]
}

// scanInt reads the integer that text begins with. An integer that is too large becomes the largest
// one.
func scanInt(text string) (v int64, ok bool) {
	v, used, _ := numeral.Scan(text, 10)
	return v, used > 0
}

// leadingInt is scanInt for a text that may begin with anything else, which is 0, as is an integer
// that is too large.
func leadingInt(text string) int64 {
	v, _, overflow := numeral.Scan(text, 10)
	if overflow {
		return 0
	}
	return v
}
