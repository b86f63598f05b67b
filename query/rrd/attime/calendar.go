package attime

import "time"

// A fields is a time taken apart, each part free to lie outside its range.
// Parts are 32 bits wide and wrap, as rrdtool's do.
type fields struct {
	year, mon, mday int32 // year since 1900, month from 0
	hour, min, sec  int32
	wday            int32
	dst             int32 // 1 daylight saving time, 0 not, -1 whichever fits
}

// local takes the second t apart in loc.
func local(t int64, loc *time.Location) fields {
	u := time.Unix(t, 0).In(loc)
	f := fields{
		year: int32(u.Year() - 1900), mon: int32(u.Month()) - 1, mday: int32(u.Day()),
		hour: int32(u.Hour()), min: int32(u.Minute()), sec: int32(u.Second()),
		wday: int32(u.Weekday()),
	}
	if u.IsDST() {
		f.dst = 1
	}
	return f
}

// wall is the second that f would be if the location were UTC.
func (f *fields) wall() int64 {
	year, mon := int64(f.year)+1900, int64(f.mon)
	year += mon / 12
	if mon %= 12; mon < 0 {
		mon += 12
		year--
	}
	return (days(year, mon)+int64(f.mday)-1)*86400 + int64(f.hour)*3600 + int64(f.min)*60 + int64(f.sec)
}

// days counts the days from 1970 to the first of a month (from 0) of a year.
func days(year, mon int64) int64 {
	mon++
	if mon <= 2 {
		year--
		mon += 12
	}
	era := year / 400
	if year < 0 {
		era = (year - 399) / 400
	}
	yoe := year - era*400
	doy := (153*(mon-3) + 2) / 5
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// second finds the second at which the clocks of loc show f. The search starts
// from the wall time taken as UTC and corrects itself, which settles, as the C
// library does in a fresh process, which of two equal wall times is meant when
// clocks are set back. A wall time that clocks skip is moved by the jump; where they skip a day and
// daylight saving time is asked for, there is none: -1.
func (f *fields) second(loc *time.Location) int64 {
	wall := f.wall()
	t, last, before := wall, wall, wall // before, last, t: three guesses in a row
	lastDST := false
	for range 8 {
		off, dst := offset(t, loc)
		miss := wall - (t + off)
		if miss == 0 {
			return f.asked(t, wall, dst, loc)
		}
		if t == before && t != last {
			// To and fro over a jump: its far side, or the side that was not asked for.
			if f.dst < 0 && (dst || !lastDST) || f.dst >= 0 && (f.dst != 0) != dst {
				return t
			}
		}
		before, last, lastDST = last, t, dst
		t += miss
	}
	return -1
}

// asked moves t, where the wall time was found, to the offset that f asks for
// by its daylight saving time, taken from the nearest time that has it.
func (f *fields) asked(t, wall int64, dst bool, loc *time.Location) int64 {
	if f.dst < 0 || dst == (f.dst != 0) {
		return t
	}
	const stride, far = 601200, 536454000 // about a week; about 17 years
	for d := int64(stride); d < far; d += stride {
		for _, at := range [2]int64{t - d, t + d} {
			if off, dst := offset(at, loc); dst == (f.dst != 0) {
				return wall - off
			}
		}
	}
	if dst { // none there: an hour, as usual
		return t + 3600
	}
	return t - 3600
}

func offset(t int64, loc *time.Location) (seconds int64, dst bool) {
	u := time.Unix(t, 0).In(loc)
	_, off := u.Zone()
	return int64(off), u.IsDST()
}
