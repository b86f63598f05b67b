package rrdtool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/rondo-db/rondo/query/graphdata"
)

// A locale is the part of the C library's locales that rrdtool uses. The zero value is the locale
// C.
type locale struct {
	point     string // decimal point; empty means "."
	weekStart time.Weekday
	names     *graphdata.Names // nil means the names of the locale C
}

// The categories that the C library loads together: if it does not know the locale of one of them,
// it uses the locale C for all.
var categories = []string{
	"LC_CTYPE", "LC_NUMERIC", "LC_TIME", "LC_COLLATE", "LC_MONETARY", "LC_MESSAGES", "LC_PAPER", "LC_NAME", "LC_ADDRESS",
	"LC_TELEPHONE", "LC_MEASUREMENT", "LC_IDENTIFICATION",
}

// Variables are the environment variables that decide how commands read times and print numbers.
var Variables = append([]string{"TZ", "LANG", "LC_ALL", "LOCPATH"}, categories...)

// localeOf returns the locale that the environment names, or the locale C if this machine lacks it.
func localeOf(getenv func(string) string) locale {
	var numeric, times string
	all, lang := getenv("LC_ALL"), getenv("LANG")
	known := map[string]bool{}
	for _, category := range categories {
		name := all
		if name == "" {
			name = getenv(category)
		}
		if name == "" {
			name = lang
		}
		switch plain, _, _ := strings.Cut(name, "."); plain {
		case "", "C", "POSIX":
			continue
		}
		switch category {
		case "LC_NUMERIC":
			numeric = name
		case "LC_TIME":
			times = name
		}
		known[name] = true
	}
	path := getenv("LOCPATH")
	for name := range known {
		if readLocale(path, name, categoryNumeric) == nil {
			return locale{}
		}
	}
	var l locale
	if numeric != "" {
		if s, _, ok := bytes.Cut(localeItem(readLocale(path, numeric, categoryNumeric), categoryNumeric, 0), []byte{0}); ok && string(s) != "." {
			l.point = string(s)
		}
	}
	if times != "" {
		b := readLocale(path, times, categoryTime)
		first, monday := localeItem(b, categoryTime, itemFirstWeekday), localeItem(b, categoryTime, itemWeekFrom)
		if len(first) > 0 && first[0] > 0 && len(monday) >= 4 {
			l.weekStart = time.Weekday(first[0]-1) % 7
			if binary.LittleEndian.Uint32(monday) == weekFromMonday {
				l.weekStart = (l.weekStart + 1) % 7
			}
		}
		l.names = namesOf(b)
	}
	return l
}

// The format of glibc's locale files. The numbers of categories and items come from langinfo.h.
const (
	categoryNumeric = 1
	categoryTime    = 2

	itemWeekFrom     = 102 // the first day of a week in the past, as YYYYMMDD
	itemFirstWeekday = 104 // first day of the week, counted from that day, from 1
	weekFromMonday   = 19971201

	localeMagic  = 0x20031115 // is combined with the category by exclusive or
	archiveMagic = 0xde020109
	localeFolder = "/usr/lib/locale"
)

// readLocale returns the file of a category of a locale, or nil if the machine has none.
func readLocale(path, name string, category int) []byte {
	if strings.Contains(name, "/") || name[0] == '.' {
		return nil
	}
	file := map[int]string{categoryNumeric: "LC_NUMERIC", categoryTime: "LC_TIME"}[category]
	folders := []string{localeFolder}
	if path != "" {
		folders = filepath.SplitList(path)
	} else if b := readArchive(filepath.Join(localeFolder, "locale-archive"), normalized(name), category); b != nil {
		return b
	}
	for _, folder := range folders {
		for _, n := range []string{name, normalized(name)} {
			if b, err := os.ReadFile(filepath.Join(folder, n, file)); err == nil {
				return b
			}
		}
	}
	return nil
}

// normalized returns the name of a locale with its codeset as it is spelled in the archive: utf8
// for UTF-8.
func normalized(name string) string {
	front, codeset, ok := strings.Cut(name, ".")
	if !ok {
		return name
	}
	codeset, modifier, modified := strings.Cut(codeset, "@")
	var b strings.Builder
	digits := true
	for _, c := range strings.ToLower(codeset) {
		if c >= 'a' && c <= 'z' {
			digits = false
		} else if c < '0' || c > '9' {
			continue
		}
		b.WriteRune(c)
	}
	codeset = b.String()
	if digits {
		codeset = "iso" + codeset
	}
	if modified {
		codeset += "@" + modifier
	}
	return front + "." + codeset
}

// readArchive returns the file of a category from an archive of locales, or nil.
func readArchive(archive, name string, category int) []byte {
	f, err := os.Open(archive)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	at := func(offset, size uint32) []byte {
		b := make([]byte, min(int64(size), max(0, info.Size()-int64(offset))))
		if _, err := f.ReadAt(b, int64(offset)); err != nil || len(b) < int(size) {
			return make([]byte, min(size, 1<<10)) // matches no name and no magic
		}
		return b
	}
	number := func(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }
	const head, entry = 20, 12
	h := at(0, head)
	if number(h, 0) != archiveMagic {
		return nil
	}
	table := at(number(h, 2), min(number(h, 4), 1<<16)*entry)
	for ; len(table) >= entry; table = table[entry:] {
		where, record := number(table, 1), number(table, 2)
		if record == 0 || string(at(where, uint32(len(name))+1)) != name+"\x00" {
			continue
		}
		places := at(record, 4+8*(categoryTime+1)) // behind a reference count
		if size := number(places, 2+2*category); size < 1<<20 {
			return at(number(places, 1+2*category), size)
		}
	}
	return nil
}

// localeItem returns a locale's file from the beginning of an item.
func localeItem(b []byte, category, item int) []byte {
	if len(b) < 8 || binary.LittleEndian.Uint32(b) != localeMagic^uint32(category) || item >= int(binary.LittleEndian.Uint32(b[4:])) || len(b) < 12+4*item {
		return nil
	}
	offset := binary.LittleEndian.Uint32(b[8+4*item:])
	if int64(offset) >= int64(len(b)) {
		return nil
	}
	return b[offset:]
}

// namesOf returns the names in a file of LC_TIME, or nil if b is not such a file.
func namesOf(b []byte) *graphdata.Names {
	item := 0
	next := func() string {
		s, _, _ := bytes.Cut(localeItem(b, categoryTime, item), []byte{0})
		item++
		return string(s)
	}
	var n graphdata.Names
	for _, list := range [][]string{n.ShortDays[:], n.Days[:], n.ShortMonths[:], n.Months[:], n.Halves[:]} {
		for i := range list {
			list[i] = next()
		}
	}
	n.DateTime, n.Date, n.TimeOfDay, n.TimeOfHalves = next(), next(), next(), next()
	if n.DateTime == "" {
		return nil
	}
	return &n
}

// local replaces the point by the locale's in the number that begins at dst[n].
func (l *locale) local(dst []byte, n int) []byte {
	if l.point == "" {
		return dst
	}
	i := bytes.IndexByte(dst[n:], '.')
	if i < 0 {
		return dst
	}
	rest := string(dst[n+i+1:])
	return append(append(dst[:n+i], l.point...), rest...)
}

// converted matches a message that contains a number with a decimal point.
var converted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(.*Converted '.*' to -?[0-9]+)\.([0-9]+, but cannot convert '.*)$`)
})

// localError returns err with the locale's decimal point in the number it contains.
func (l *locale) localError(err error) error {
	if l.point == "" || err == nil {
		return err
	}
	if m := converted().FindStringSubmatch(err.Error()); m != nil {
		return errors.New(m[1] + l.point + m[2])
	}
	return err
}

// Location returns the time zone that the variable TZ names, as the C library reads it: the name of
// a zone that this machine knows, or rules (CET-1CEST,M3.5.0,M10.5.0/3). Anything else means UTC.
func Location(tz string) *time.Location {
	tz = strings.TrimPrefix(tz, ":")
	if tz == "" || strings.Contains(tz, "\n") {
		return time.UTC
	}
	if tz != "Local" {
		if l, err := time.LoadLocation(tz); err == nil {
			return l
		}
	}
	if l, err := time.LoadLocationFromTZData(tz, zoneOf(tz, neverOffset, false, "UTC")); err == nil {
		begin := time.Unix(0, 0).In(l)
		name, offset := begin.Zone()
		if offset == neverOffset {
			return time.UTC
		}
		if l, err = time.LoadLocationFromTZData(tz, zoneOf(tz, offset, begin.IsDST(), name)); err == nil {
			return l
		}
	}
	return time.UTC
}

// neverOffset is the offset of a zone made by zoneOf if its rules are not understood, in seconds.
const neverOffset = 1

// zoneOf returns a time zone file (RFC 9636) that contains rules for the time from 1970 on. As in
// the C library, the clocks were not set before: they showed what they show when 1970 begins, which
// is offset seconds from UTC, of the name of a zone.
func zoneOf(rules string, offset int, summer bool, name string) []byte {
	header := func(transitions, types, letters int) []byte {
		b := append([]byte("TZif2"), make([]byte, 15)...)
		for _, n := range []int{0, 0, 0, transitions, types, letters} {
			b = binary.BigEndian.AppendUint32(b, uint32(n))
		}
		return b
	}
	b := header(0, 0, 0) // the part for readers of version 1
	b = append(b, header(2, 1, len(name)+1)...)
	long := int64(math.MinInt64) / 4 // before every time that is looked up
	b = binary.BigEndian.AppendUint64(b, uint64(long))
	b = binary.BigEndian.AppendUint64(b, 0)
	b = append(b, 0, 0) // both transitions are to type 0:
	b = binary.BigEndian.AppendUint32(b, uint32(offset))
	b = append(b, 0, 0) // no daylight saving time, the first letters
	if summer {
		b[len(b)-2] = 1
	}
	b = append(b, name...)
	return append(append(append(b, "\x00\n"...), rules...), '\n')
}
