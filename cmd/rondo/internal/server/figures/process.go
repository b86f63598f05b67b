package figures

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/rondo-db/rondo/rra"
)

func processFigures(started time.Time) []figure {
	fs := []figure{
		{"goroutines", "go_goroutines", rra.Gauge, "Goroutines that exist.", float64(runtime.NumGoroutine())},
		{"heap_bytes", "go_memstats_heap_alloc_bytes", rra.Gauge, "Bytes of the Go heap in use.", runtimeMetric("/memory/classes/heap/objects:bytes")},
		{"", "go_memstats_sys_bytes", rra.Gauge, "Bytes obtained from the system by the Go runtime.", runtimeMetric("/memory/classes/total:bytes")},
		{"", "go_gc_cycles_total", rra.Derive, "Garbage collections completed.", runtimeMetric("/gc/cycles/total:gc-cycles")},
		{"", "process_start_time_seconds", rra.Gauge, "Start of the process, seconds since 1970.", float64(started.UnixMilli()) / 1000},
	}
	if cpu, ok := ProcessorTime(); ok {
		fs = append(fs, figure{"cpu_seconds", "process_cpu_seconds_total", rra.DDerive, "User and system time spent.", cpu.Seconds()})
	}
	if rss, ok := ResidentBytes(); ok {
		fs = append(fs, figure{"resident_bytes", "process_resident_memory_bytes", rra.Gauge, "Resident memory, mapped files included.", rss})
	}
	return fs
}

// runtimeMetric returns one figure of the Go runtime.
func runtimeMetric(name string) float64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return float64(s[0].Value.Uint64())
}

// ResidentBytes reads the size of the resident set from /proc. It returns false on systems without
// /proc.
func ResidentBytes() (float64, bool) {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	var all, resident float64 // in pages
	_, err = fmt.Sscan(string(data), &all, &resident)
	return resident * float64(os.Getpagesize()), err == nil
}
