package rrdtool

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// localeFile is a file of a category with some of its items.
func localeFile(category, items int, set map[int][]byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, localeMagic^uint32(category))
	b = binary.LittleEndian.AppendUint32(b, uint32(items))
	data := []byte{0}
	for i := range items {
		at := uint32(8 + 4*items)
		if v, ok := set[i]; ok {
			at += uint32(len(data))
			data = append(data, v...)
		}
		b = binary.LittleEndian.AppendUint32(b, at)
	}
	return append(b, data...)
}

// TestLocale reads the point and the first day of a week from a folder, as the C library finds it.
func TestLocale(t *testing.T) {
	folder := t.TempDir()
	sunday := binary.LittleEndian.AppendUint32(nil, 19971130)
	monday := binary.LittleEndian.AppendUint32(nil, 19971201)
	for name, files := range map[string][2][]byte{
		"xx_XX.utf8":  {localeFile(1, 6, map[int][]byte{0: []byte(",\x00")}), localeFile(2, 159, map[int][]byte{102: sunday, 104: {2}})},
		"yy_YY.UTF-8": {localeFile(1, 6, map[int][]byte{0: []byte("\xd9\xab\x00")}), localeFile(2, 159, map[int][]byte{102: monday, 104: {6}})},
		"short":       {[]byte("short"), {}},
		"wild":        {binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, localeMagic^1), 1), 1<<31), nil},
	} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o777); err != nil {
			t.Fatal(err)
		}
		for i, file := range []string{"LC_NUMERIC", "LC_TIME"} {
			if err := os.WriteFile(filepath.Join(folder, name, file), files[i], 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name string
		env  map[string]string
		want locale
	}{
		{"nothing", nil, locale{}},
		{"C", map[string]string{"LC_ALL": "C", "LANG": "xx_XX.UTF-8"}, locale{}},
		{"LC_ALL before the others", map[string]string{"LC_ALL": "xx_XX.UTF-8", "LC_NUMERIC": "C"}, locale{point: ",", weekStart: time.Monday}},
		{"LANG after the others", map[string]string{"LANG": "xx_XX.UTF-8", "LC_NUMERIC": "C.UTF-8"}, locale{point: "", weekStart: time.Monday}},
		{"a week from Monday on", map[string]string{"LANG": "yy_YY.UTF-8"}, locale{point: "٫", weekStart: time.Saturday}},
		{"a category that is not there", map[string]string{"LANG": "xx_XX.UTF-8", "LC_PAPER": "none"}, locale{}},
		{"out of the folder", map[string]string{"LANG": "../" + filepath.Base(folder) + "/xx_XX.utf8"}, locale{}},
		{"damaged", map[string]string{"LANG": "short"}, locale{}},
		{"an offset that leads out", map[string]string{"LC_NUMERIC": "wild"}, locale{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := localeOf(func(name string) string {
				if name == "LOCPATH" {
					return folder
				}
				return tt.env[name]
			})
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestLocaleArchive finds a locale among others in an archive, and nothing in a damaged one.
func TestLocaleArchive(t *testing.T) {
	data := localeFile(1, 1, map[int][]byte{0: []byte(",\x00")})
	words := []uint32{archiveMagic, 0, 56, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	const names, record, content = 56 + 36, 56 + 36 + 24, 56 + 36 + 24 + 28
	words = append(words, 1, names, 0, 2, names+12, record, 0, 0, 0) // one that was removed, one, and none
	words = append(words, 0x5f787878, 0x78782e78, 0, 0x5f787878, 0x78782e78, 0)
	words = append(words, 1, 0, 0, content, uint32(len(data)), 0, 0)
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	b = append(b, data...)
	file := filepath.Join(t.TempDir(), "locale-archive")
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(file, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(b)
	if got := readArchive(file, "xxx_x.xx", categoryNumeric); string(got) != string(data) {
		t.Errorf("got %q, want %q", got, data)
	}
	if got := readArchive(file, "yyy_x.xx", categoryNumeric); got != nil {
		t.Errorf("another name: %q", got)
	}
	for i := range b {
		write(b[:i])
		_ = readArchive(file, "xxx_x.xx", categoryNumeric) // must end
	}
}

// TestLocalNumber: what is printed has the locale's point.
func TestLocalNumber(t *testing.T) {
	l := locale{point: "٫"}
	if got, want := string(l.local([]byte("a.b 1.5e+00"), 4)), "a.b 1٫5e+00"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := string(l.local([]byte("-nan"), 0)), "-nan"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	err := l.localError(errors.New("a.rrd: Converted '2.5,5' to 2.500000, but cannot convert ',5'"))
	if want := "a.rrd: Converted '2.5,5' to 2٫500000, but cannot convert ',5'"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

// TestLocation: TZ names a zone, or has its rules.
func TestLocation(t *testing.T) {
	summer, winter := time.Unix(1_000_000_000, 0), time.Unix(1_010_000_000, 0)
	for tz, want := range map[string][2]int{
		"":                            {0, 0},
		"UTC":                         {0, 0},
		"nowhere/at all":              {0, 0},
		"CET-1CEST,M3.5.0,M10.5.0/3":  {7200, 3600},
		":CET-1CEST,M3.5.0,M10.5.0/3": {7200, 3600},
		"<+0330>-3:30":                {12600, 12600},
		"XYZ3":                        {-10800, -10800},
		"XYZ3\nfoo":                   {0, 0},
	} {
		l := Location(tz)
		_, s := summer.In(l).Zone()
		_, w := winter.In(l).Zone()
		if s != want[0] || w != want[1] {
			t.Errorf("%q: %d and %d seconds, want %v", tz, s, w, want)
		}
	}
}

// TestRulesBefore1970 checks that rules of TZ set no clock before 1970, as in the C library: it
// stays what it is when 1970 begins, which is winter in the north and summer in the south.
func TestRulesBefore1970(t *testing.T) {
	for tz, want := range map[string]string{
		"CET-1CEST,M3.5.0,M10.5.0/3":      "CET 1432-06-30 01:00 CET 1969-07-11 10:20 CEST 1970-07-14 14:40",
		"AEST-10AEDT,M10.1.0,M4.1.0/3":    "AEDT 1432-06-30 11:00 AEDT 1969-07-11 20:20 AEST 1970-07-14 22:40",
		"<+0330>-3:30<+0430>,J79/24,J263": "+0330 1432-06-30 03:30 +0330 1969-07-11 12:50 +0430 1970-07-14 17:10",
	} {
		l := Location(tz)
		got := ""
		for _, at := range []int64{-16962048000, -15000000, 16807200} {
			got += time.Unix(at, 0).In(l).Format(" MST 2006-01-02 15:04")
		}
		if got = got[1:]; got != want {
			t.Errorf("%s: got %s, want %s", tz, got, want)
		}
	}
}
