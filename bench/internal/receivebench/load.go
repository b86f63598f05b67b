package receivebench

// hostSeries is the number of series of one host.
const hostSeries = 100

// A load makes the messages that are sent. It is for one goroutine.
type load interface {
	// size returns the number of messages in a round, and of series and values in all of them.
	size() (messages, series, values int)
	// before returns messages without values, which are sent before the first round as message 0, 1
	// and so on.
	before() [][]byte
	// step gives message i new readings. It returns the message, and how many samples and values it
	// holds. The message is valid until step is called for it again.
	step(i int) (message []byte, samples, values int)
	// series returns the n-th series: its path, and the last reading of each of its sources.
	series(n int) state
}

// A state is the expected state of a series: its path, the time of its last update in seconds (0:
// not checked), and the last reading of each source.
type state struct {
	Path     string
	At       int64
	Readings []string // in the form of rra.FormatReading
}
