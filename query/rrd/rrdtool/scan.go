package rrdtool

import (
	"fmt"
	"math"
	"strconv"
	"strings"

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

// scanInt reads the integer that text begins with, as C's strtol does. An integer that is too large
// becomes the largest one.
func scanInt(text string) (v int64, ok bool) {
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	digits := strings.TrimPrefix(text, "-")
	if digits == text {
		digits = strings.TrimPrefix(text, "+")
	}
	digits = leadingOf(digits, "0123456789")
	if digits == "" {
		return 0, false
	}
	if text[0] == '-' {
		digits = "-" + digits
	}
	v, _ = strconv.ParseInt(digits, 10, 64) // out of range it is the nearest integer
	return v, true
}

// leadingInt reads the integer that a text begins with. It returns 0 for a text that begins with
// anything else.
func leadingInt(s string) int64 {
	var v int64
	_, _ = fmt.Sscanf(s, "%d", &v) // v stays 0 if the text begins with no integer
	return v
}
