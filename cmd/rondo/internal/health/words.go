package health

import (
	"fmt"
	"strconv"

	"github.com/rondo-db/rondo/internal/quantity"
)

// count returns a number with its noun: "1 place", "2 places".
func count(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprint(n, " ", noun, "s")
}

// has returns the beginning of a sentence about something that has been: "1 sender has been".
func has(n int, noun string) string {
	verb := " have been"
	if n == 1 {
		verb = " has been"
	}
	return count(uint64(n), noun) + verb
}

// gets returns the beginning of a sentence about what series get.
func gets(n int) string {
	if n == 1 {
		return "1 series gets"
	}
	return fmt.Sprint(n, " series get")
}

// takes returns the beginning of a sentence about settings that take effect.
func takes(n int) string {
	if n == 1 {
		return "1 changed setting takes effect"
	}
	return count(uint64(n), "changed setting") + " take effect"
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
