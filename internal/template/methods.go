package template

import (
	"reflect"
	"time"
)

// method returns the method that has a name, of a time, a duration, a month or a day of the week,
// or nil.
func method(v reflect.Value, name string) any {
	if !v.CanInterface() {
		return nil
	}
	switch x := v.Interface().(type) {
	case time.Time:
		return map[string]any{
			"Add": x.Add, "AddDate": x.AddDate, "After": x.After, "Before": x.Before, "Compare": x.Compare, "Day": x.Day,
			"Equal": x.Equal, "Format": x.Format, "Hour": x.Hour, "IsZero": x.IsZero, "Local": x.Local, "Minute": x.Minute,
			"Month": x.Month, "Nanosecond": x.Nanosecond, "Round": x.Round, "Second": x.Second, "String": x.String,
			"Sub": x.Sub, "Truncate": x.Truncate, "UTC": x.UTC, "Unix": x.Unix, "UnixMicro": x.UnixMicro,
			"UnixMilli": x.UnixMilli, "UnixNano": x.UnixNano, "Weekday": x.Weekday, "Year": x.Year, "YearDay": x.YearDay,
		}[name]
	case time.Duration:
		return map[string]any{
			"Abs": x.Abs, "Hours": x.Hours, "Microseconds": x.Microseconds, "Milliseconds": x.Milliseconds,
			"Minutes": x.Minutes, "Nanoseconds": x.Nanoseconds, "Round": x.Round, "Seconds": x.Seconds,
			"String": x.String, "Truncate": x.Truncate,
		}[name]
	case time.Month:
		return map[string]any{"String": x.String}[name]
	case time.Weekday:
		return map[string]any{"String": x.String}[name]
	}
	return nil
}
