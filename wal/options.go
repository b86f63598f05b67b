package wal

// Sync says when a record counts as durable.
type Sync int

const (
	// SyncAlways waits for fdatasync: an acknowledged record survives a crash and loss of power.
	SyncAlways Sync = iota
	// SyncInterval acknowledges when written and syncs by the clock: loss of power may take the last interval.
	SyncInterval
	// SyncNone leaves syncing to the operating system: loss of power may take everything it has not written.
	SyncNone
)
