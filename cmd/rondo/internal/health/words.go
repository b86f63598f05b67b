package health

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/internal/quantity"
)

// count returns a number with its noun: "1 place", "2 places".
func count(n uint64, noun string) string { return plural(int(n), noun, noun+"s") }

// plural returns a number and what is said of one, or of several.
func plural(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", several)
}

// some returns the first of texts, and how many more there are.
func some(all []string, between, more string) string {
	text := strings.Join(all[:min(len(all), named)], between)
	if n := len(all) - named; n > 0 {
		text += fmt.Sprintf("%s%d more", more, n)
	}
	return text
}

// Size returns bytes as people read them.
func Size(n int64) string { return quantity.Plain(quantity.Text(float64(n), "B")) }

// text returns the name of a sender, which may hold anything, fit for a sentence.
func text(name string) string {
	const longest = 80
	if len(name) > longest {
		name = name[:longest]
	}
	if q := strconv.Quote(name); q != `"`+name+`"` || name == "" {
		return q
	}
	return name
}
