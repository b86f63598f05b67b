package memory

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
		var p Pool
		for _, n := range []int{1, 64, 8 << 10, 300 << 10, chunkSize / 4, chunkSize/4 + 1, chunkSize + 12345} {
			b := p.Alloc(n)
			if len(b) != n {
				t.Fatalf("%d bytes, want %d", len(b), n)
			}
			for i := range b {
				if b[i] != 0 {
					t.Fatalf("byte %d of %d is not zero", i, n)
				}
				b[i] = 0xff
			}
			p.Release(b)
		}
		if used := p.Used(); used != 0 {
			t.Fatalf("%d bytes in use after all were released", used)
		}
		p.Close()
	}
	if after := mappings(t); after > before+20 {
		t.Errorf("%d mappings, %d before", after, before)
	}
}
