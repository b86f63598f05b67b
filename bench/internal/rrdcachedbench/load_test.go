package rrdcachedbench

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// TestPrintedAsByC compares with what C's printf prints.
func TestPrintedAsByC(t *testing.T) {
	for _, tt := range []struct {
		v         float64
		precision int
		want      string
	}{
		{404000000, 15, "404000000"},
		{0.1, 15, "0.1"},
		{0.1, 17, "0.10000000000000001"},
		{1e15, 15, "1e+15"},
		{123456789012345, 15, "123456789012345"},
		{0.0001, 15, "0.0001"},
		{0.00001234, 15, "1.234e-05"},
		{-2.5, 17, "-2.5"},
		{999999999999999.9, 15, "1e+15"},
		{0, 15, "0"},
	} {
		if got := string(appendG(nil, tt.v, tt.precision)); got != tt.want {
			t.Errorf("%%.%dg of %v: %s, want %s", tt.precision, tt.v, got, tt.want)
		}
	}
}

// TestLoadIsVaried counts what the updates of ten rounds look like.
func TestLoadIsVaried(t *testing.T) {
	files := newFiles(50*hostFiles, 1)
	r := rand.New(rand.NewPCG(1, 2))
	phases, exponents, large, long, several := make(map[int64]bool), 0, 0, 0, 0
	lines := 0
	for round := range int64(10) {
		for i := range files {
			phases[files[i].phase] = true
			line := strings.TrimSuffix(string(files[i].update(nil, round, r)), "\n")
			lines++
			readings := strings.Split(strings.Fields(line)[2], ":")[1:]
			if len(readings) > 1 {
				several++
			}
			for _, reading := range readings {
				v, err := strconv.ParseFloat(reading, 64)
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				switch {
				case strings.Contains(reading, "e"):
					exponents++
				case v > 1<<32 && !strings.Contains(reading, "."):
					large++
				case len(strings.Trim(reading, "0.")) > 15:
					long++
				}
			}
		}
	}
	got := fmt.Sprintf("exponents %d %%, several sources %d %%", 100*exponents/lines, 100*several/lines)
	if want := "exponents 10 %, several sources 30 %"; got != want || len(phases) < 8 {
		t.Errorf("%s, want %s; %d phases", got, want, len(phases))
	}
	if large < lines/3 || long < lines/10 {
		t.Errorf("%d updates: %d readings above 2^32, %d of more than 15 digits", lines, large, long)
	}
}
