//go:build race

package hostile

// raceEnabled says that the tests run with the race detector.
const raceEnabled = true
