package record

// A log record begins with a byte for its kind. Part of the format.
const (
	KindSamples  = 1
	KindCreate   = 2
	KindDrop     = 3
	KindRename   = 4
	KindNote     = 5
	KindSettings = 6
	KindBarrier  = 7
	KindMetadata = 8
	KindRelabel  = 9
	KindNumbered = 11 // a number, and the record that has it
)
