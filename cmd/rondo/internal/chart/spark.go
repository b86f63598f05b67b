package chart

import "math"

// The bars of a sparkline, from the smallest to the largest value.
var (
	bars      = []rune("▁▂▃▄▅▆▇█")
	asciiBars = []rune("_.-=+*#@")
)

// Spark draws values as a line of bars, one cell for each value. If there are more values than
// cells, several share one, which shows the greatest of them. Unknown values leave a gap.
func Spark(values []float64, width int, ascii bool) string {
	least, greatest := math.NaN(), math.NaN()
	for _, v := range values {
		least, greatest = fmin(least, v), fmax(greatest, v)
	}
	set := bars
	if ascii {
		set = asciiBars
	}
	width = min(len(values), width)
	line := make([]rune, width)
	for i := range line {
		top := math.NaN()
		for _, v := range values[i*len(values)/width : (i+1)*len(values)/width] {
			top = fmax(top, v)
		}
		switch part := (top - least) / (greatest - least); {
		case math.IsNaN(top):
			line[i] = ' '
		case math.IsNaN(part): // all values are equal, or infinite
			line[i] = set[0]
		default:
			line[i] = set[min(int(part*float64(len(set))), len(set)-1)]
		}
	}
	return string(line)
}
