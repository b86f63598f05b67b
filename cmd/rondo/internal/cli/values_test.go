package cli

import (
	"testing"
)

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "5": 5, "64M": 64 << 20, "4g": 4 << 30, "1KiB": 1024, "2TB": 2 << 40} {
		var b ByteSize
		if err := b.Set(text); err != nil || int64(b) != want {
			t.Errorf("%s: got %d, %v, want %d", text, b, err, want)
		}
		var again ByteSize
		if err := again.Set(b.String()); err != nil || again != b {
			t.Errorf("%s prints as %s, which is %d, %v", text, b.String(), again, err)
		}
	}
	for _, text := range []string{"", "M", "-1", "1.5G", "9999999T", "5X"} {
		if err := new(ByteSize).Set(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
