package reshape

import (
	"strings"
	"testing"

	"github.com/rondo-db/rondo/rra"
)

// TestOrderOfAsking compares the order with rrdtool 1.7.2's. Its archives were filled so that each
// pair had a row that only these two knew. The row of the new archive showed which was asked.
func TestOrderOfAsking(t *testing.T) {
	kinds := map[rune]archive{
		'A': {cf: rra.Average, span: 4, rows: 120},
		'U': {cf: rra.Average, span: 4, rows: 130},
		'S': {cf: rra.Average, span: 4, rows: 110},
		'F': {cf: rra.Average, span: 2, rows: 240},
		'C': {cf: rra.Average, span: 8, rows: 60},
		'L': {cf: rra.Last, span: 4, rows: 120},
		'K': {cf: rra.Last, span: 4, rows: 110},
		'G': {cf: rra.Last, span: 2, rows: 240},
	}
	fine, last, average := asking{rra.Last, 2}, asking{rra.Last, 4}, asking{rra.Average, 4}
	for _, c := range []struct {
		q           asking
		have, asked string // asked: by place in have
	}{
		{fine, "AA", "10"},
		{fine, "AAAAA", "12340"},
		{fine, "AAL", "012"},
		{fine, "AAAAL", "12034"},
		{fine, "AALA", "0132"},
		{fine, "LLLAA", "43210"},
		{fine, "LALAA", "41320"},
		{fine, "LLALAAA", "6524310"},
		{fine, "AAALALALA", "102846753"},
		{fine, "SAAA", "2130"},
		{fine, "AASS", "0132"},
		{fine, "UAAA", "0231"},
		{fine, "ACAA", "2031"},
		{fine, "KAKA", "1320"},
		{fine, "AGAG", "1320"},
		{average, "UA", "10"}, // length does not count for the wanted rows
		{average, "AU", "01"},
		{average, "SAU", "102"},
		{average, "FAAA", "1230"},
		{average, "FSSSF", "23140"},
		{average, "FFFAAA", "453120"},
		{average, "AFFAFAAF", "53604271"},
		{last, "FSSSF", "04231"},
		{last, "GSSSG", "31240"},
		{last, "LGFFLLLF", "54603271"},
		{last, "FFGALLFL", "54710632"},
	} {
		var archives []archive
		for i, kind := range c.have {
			a := kinds[kind]
			a.index = i
			archives = append(archives, a)
		}
		c.q.order(archives)
		var asked strings.Builder
		for _, a := range archives {
			asked.WriteByte(byte('0' + a.index))
		}
		if asked.String() != c.asked {
			t.Errorf("%v asks %s in the order %s, rrdtool %s", c.q, c.have, asked.String(), c.asked)
		}
	}
}

// TestOrderOfMany orders as many archives as a series can have.
func TestOrderOfMany(t *testing.T) {
	archives := make([]archive, rra.MaxArchives)
	for i := range archives {
		archives[i].index = i
	}
	asking{rra.Average, 1}.order(archives)
	for i, a := range archives {
		if want := (i + 1) % len(archives); a.index != want { // as with five
			t.Fatalf("archive %d is asked as number %d, want %d", a.index, i, want)
		}
	}
}
