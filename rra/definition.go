package rra

// A Kind is what a data source's readings mean.
type Kind uint8

// The kinds are part of the format.
const (
	Gauge Kind = iota
	Counter
	Derive
	DCounter
	DDerive
	Absolute
	Compute
)

// A CF is a consolidation function.
type CF uint8

// The consolidation functions are part of the format.
const (
	Average CF = iota
	Min
	Max
	Last
	HWPredict
	MHWPredict
	Seasonal
	DevSeasonal
	DevPredict
	Failures
)

// A DataSource is one column of a series.
type DataSource struct {
	Name      string
	Kind      Kind
	Heartbeat int64   // seconds
	Min, Max  float64 // NaN: no limit
	Expr      string  // COMPUTE only: the RPN expression as given
}

// An Archive is one round-robin archive of a series.
type Archive struct {
	CF   CF
	XFF  float64 // AVERAGE, MIN, MAX, LAST only
	PDPs int64   // primary data points a row; 1 for the Holt-Winters family
	Rows int64
	// Own says that an AVERAGE, MIN, MAX or LAST archive with one PDP in a row shares its rows with
	// no other such archive, because its rows differ: it was restored, imported or added later.
	Own bool

	// The Holt-Winters family.
	Alpha, Beta        float64 // HWPREDICT, MHWPREDICT
	Gamma              float64 // SEASONAL, DEVSEASONAL
	SmoothingWindow    float64 // SEASONAL, DEVSEASONAL; NaN: not given
	Partner            int     // index (from 0) of the archive this one depends on; -1: none
	Threshold, Window  int     // FAILURES: violations in a window
	DeltaPos, DeltaNeg float64 // FAILURES: width of the confidence band
}

// A Definition says what a series keeps.
type Definition struct {
	Step     int64 // seconds
	Sources  []DataSource
	Archives []Archive
}
