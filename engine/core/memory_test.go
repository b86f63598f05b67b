package core

import (
	"os"
	"strings"
	"testing"
)

// mappings counts the mappings of this process.
func mappings(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skipf("no list of mappings here: %v", err)
	}
	return strings.Count(string(b), "\n")
}

// The parts of a mapping that were cut off to align it stayed mapped.
func TestMemoryIsGivenBack(t *testing.T) {
	before := mappings(t)
	for range 50 {
		var m memory
		for _, n := range []int{1, 64, 8 << 10, 300 << 10, memoryChunk / 4, memoryChunk/4 + 1, memoryChunk + 12345} {
			b := m.alloc(n)
			if len(b) != n {
				t.Fatalf("%d bytes, want %d", len(b), n)
			}
			for i := range b {
				if b[i] != 0 {
					t.Fatalf("byte %d of %d is not zero", i, n)
				}
				b[i] = 0xff
			}
			m.release(b)
		}
		if used := m.used.Load(); used != 0 {
			t.Fatalf("%d bytes in use after all were released", used)
		}
		m.close()
	}
	if after := mappings(t); after > before+20 {
		t.Errorf("%d mappings, %d before", after, before)
	}
}
