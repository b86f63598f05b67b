package wal_test

import (
	"testing"
	"time"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

func TestSuite(t *testing.T) {
	disk := waltest.NewDisk(1)
	for _, c := range []struct {
		name string
		o    wal.Options
	}{
		{"default", wal.Options{}},
		{"small segments", wal.Options{FS: disk, SegmentBytes: 3000}},
		{"little pending", wal.Options{FS: disk, MaxPendingBytes: 500, DisablePreallocate: true}},
		{"interval", wal.Options{Sync: wal.SyncInterval, Interval: time.Millisecond, SegmentBytes: 5000}},
		{"none", wal.Options{Sync: wal.SyncNone, SegmentBytes: 5000}},
		{"plain", wal.Options{FS: disk, SegmentBytes: 5000, DisablePreallocate: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			waltest.Run(t, func(place string, onDurable func(first, last wal.Pos, err error)) (waltest.Log, error) {
				o := c.o
				o.OnDurable = onDurable
				return wal.Open(place, o)
			})
		})
	}
}
