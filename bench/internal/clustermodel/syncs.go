package clustermodel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// How syncs of a disk are measured.
const (
	syncWrites = 2000
	syncBytes  = 64 << 10
	stallAbove = 10 // times the median is a stall
)

// MeasureSyncs returns the times with the sync times of the disk that has a folder. It writes 64 kB
// and syncs, again and again, for some seconds.
func (t Times) MeasureSyncs(ctx context.Context, dir string) (Times, error) {
	took, err := syncTimes(ctx, dir)
	if err != nil {
		return t, fmt.Errorf("measure syncs in %s: %w", dir, err)
	}
	usual, stall, share := splitStalls(took)
	return t.fitted(1, nil, map[string]float64{"sync": usual, "stall": stall, "stall_share": share})
}

func syncTimes(ctx context.Context, dir string) (took []float64, err error) {
	f, err := os.CreateTemp(dir, "sync-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	b := make([]byte, syncBytes)
	for range syncWrites {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		began := time.Now()
		if _, err := f.Write(b); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began).Seconds())
	}
	return took, nil
}

// splitStalls returns the mean time of usual syncs and of stalls, and how many of all are stalls.
func splitStalls(took []float64) (usual, stall, share float64) {
	sorted := slices.Sorted(slices.Values(took))
	above := sorted[len(sorted)/2] * stallAbove
	stalls := 0.0
	for _, x := range took {
		if x > above {
			stalls++
			stall += x
		} else {
			usual += x
		}
	}
	n := float64(len(took))
	if stalls > 0 {
		stall /= stalls
	}
	return usual / (n - stalls), stall, stalls / n
}
