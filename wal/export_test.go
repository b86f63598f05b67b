package wal

// For the tests, which build blocks no log would write.
var (
	SealBlock = sealBlock
	SaltOf    = saltOf
	Checksum  = checksum
)

const (
	SegmentHeader = segmentHeader
	BlockHeader   = blockHeader
)
