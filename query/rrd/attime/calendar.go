package attime

import "time"

// Fields are a time taken apart. Each part may lie outside its range. Like rrdtool's, the parts
// have 32 bits and wrap.
type Fields struct {
	Year, Month, Day     int32 // year since 1900, month from 0
	Hour, Minute, Second int32
	Weekday              int32
	DST                  int32 // 1: daylight saving time; 0: standard time; -1: either
}

// Local returns the fields of the second t in loc.
func Local(t int64, loc *time.Location) Fields {
	u := time.Unix(t, 0).In(loc)
	f := Fields{
		Year: int32(u.Year() - 1900), Month: int32(u.Month()) - 1, Day: int32(u.Day()),
		Hour: int32(u.Hour()), Minute: int32(u.Minute()), Second: int32(u.Second()),
		Weekday: int32(u.Weekday()),
	}
	if u.IsDST() {
		f.DST = 1
	}
	return f
}

// Unix returns the second at which clocks show f, as the C library's mktime does. Where clocks show
// it with another DST only, the offset is the one of the nearest time that has this DST.
func (f *Fields) Unix(loc *time.Location) int64 {
	c := clock{loc: loc}
	if t, ok := c.search(f); ok {
		return t
	}
	return f.wall()
}

// wall returns the second that f means in UTC.
func (f *Fields) wall() int64 {
	return time.Date(int(f.Year)+1900, time.Month(f.Month)+1, int(f.Day), int(f.Hour), int(f.Minute), int(f.Second), 0, time.UTC).Unix()
}

// A clock finds the second at which the clocks of a place show a wall time, as the C library's
// mktime does.
type clock struct {
	loc *time.Location
	// offset is by how many seconds the time that was found last was ahead of UTC. The next search
	// begins there, so it decides which one is found of a wall time that clocks show twice.
	offset int64
}

// settle replaces f by the fields of the second that it means, all within their ranges. It reports
// whether there is such a second.
func (c *clock) settle(f *Fields) bool {
	t := c.second(f)
	if t == -1 {
		return false
	}
	*f = Local(t, c.loc)
	return true
}

// second returns the second at which clocks show f. The search starts with the wall time at the
// offset of the last search and corrects itself. A wall time that clocks skip is moved by the jump.
// second returns -1 if clocks skip a whole day and f asks for daylight saving time.
func (c *clock) second(f *Fields) int64 {
	t, ok := c.search(f)
	if !ok {
		return -1
	}
	c.offset = f.wall() - t
	return t
}

func (c *clock) search(f *Fields) (int64, bool) {
	wall := f.wall()
	t := wall - c.offset
	last, before := t, t // the last three guesses: before, last, t
	lastDST := false
	for range 8 {
		off, dst := offset(t, c.loc)
		miss := wall - (t + off)
		if miss == 0 {
			return f.asked(t, wall, dst, c.loc), true
		}
		if t == before && t != last {
			// The guesses alternate over a jump. Choose its far side, or the side that was not
			// asked for.
			if f.DST < 0 && (dst || !lastDST) || f.DST >= 0 && (f.DST != 0) != dst {
				return t, true
			}
		}
		before, last, lastDST = last, t, dst
		t += miss
	}
	return 0, false
}

// asked returns t, at which the wall time was found, moved to the offset of the daylight saving
// time that f asks for. The offset is the one that the nearest
// such time has.
func (f *Fields) asked(t, wall int64, dst bool, loc *time.Location) int64 {
	if f.DST < 0 || dst == (f.DST != 0) {
		return t
	}
	const stride, far = 601200, 536454000 // about a week; about 17 years
	for d := int64(stride); d < far; d += stride {
		for _, at := range [2]int64{t - d, t + d} {
			if off, dst := offset(at, loc); dst == (f.DST != 0) {
				return wall - off
			}
		}
	}
	if dst { // no such time: assume an hour
		return t + 3600
	}
	return t - 3600
}

func offset(t int64, loc *time.Location) (seconds int64, dst bool) {
	u := time.Unix(t, 0).In(loc)
	_, off := u.Zone()
	return int64(off), u.IsDST()
}
