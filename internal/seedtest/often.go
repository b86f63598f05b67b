package seedtest

import "testing"

// Often returns how often a test does again what it has done once: few times, or many in a run that
// asks for more. With -short it is half of few, at least once.
func Often(few, many int) int {
	switch {
	case More():
		return many
	case testing.Short():
		return (few + 1) / 2
	}
	return few
}
