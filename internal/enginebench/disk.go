package enginebench

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

const (
	diskWrite  = 64 << 10 // bytes of one write
	diskWrites = 200
)

// diskTimes returns the median and the 99th percentile of the time that the disk of dir takes for
// one write and its sync, in seconds. The writes go over a file that is on the disk already, as a
// log's do.
func diskTimes(dir string) (p50, p99 float64, err error) {
	f, err := os.CreateTemp(dir, "disk-*")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	took := make([]time.Duration, diskWrites)
	b := make([]byte, diskWrite)
	if _, err := f.Write(make([]byte, diskWrites*diskWrite)); err != nil {
		return 0, 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, 0, err
	}
	for i := range took {
		b[0] = byte(i)
		begin := time.Now()
		if _, err := f.WriteAt(b, int64(i)*diskWrite); err != nil {
			return 0, 0, err
		}
		if err := datasync(f); err != nil {
			return 0, 0, fmt.Errorf("sync %s: %w", f.Name(), err)
		}
		took[i] = time.Since(begin)
	}
	slices.Sort(took)
	return quantile(took, 0.5), quantile(took, 0.99), nil
}
