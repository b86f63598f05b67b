package rra

import "fmt"

// A TimeError says that a reading is not later than the last one of its series. The state has not
// changed.
type TimeError struct {
	At, Last Time
}

func (e *TimeError) Error() string {
	return fmt.Sprintf("time %d.%06d is not after the last update %d.%06d",
		e.At.Unix(), e.At.Micro(), e.Last.Unix(), e.Last.Micro())
}

// A CountError says that a reading does not have one value for each data source that is not
// COMPUTE. The state has not changed.
type CountError struct {
	Got, Want int
}

func (e *CountError) Error() string {
	return fmt.Sprintf("%d values for %d data sources", e.Got, e.Want)
}

// A ValueError says that the value of a data source, or its last reading, which was not parsed
// until now, is not a number that its kind takes. As in rrdtool, the last readings of the data
// sources before it have been replaced; nothing else has changed.
type ValueError struct {
	DS   int    // index of the data source
	Name string // its name
	Err  error  // has rrdtool's text
}

func (e *ValueError) Error() string { return fmt.Sprintf("data source %s: %v", e.Name, e.Err) }

func (e *ValueError) Unwrap() error { return e.Err }

// A FieldError says which field of a definition or a snapshot is not valid.
type FieldError struct {
	Field string // "step", "ds[1].heartbeat", "rra[0].rows", …
	Err   string // what is wrong
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err }

// A RowError says that the rows of an archive in plain words are not a multiple of the step.
type RowError struct {
	Part string // the archive, as it was written
	Row  string // the length of a row, as it was written
	Step int64  // of the series, in seconds
	Fits int64  // the longest step, in seconds, that divides all rows of the text
}

func (e *RowError) Error() string {
	return fmt.Sprintf("%q: a row of %s is no multiple of the step, %d s", e.Part, e.Row, e.Step)
}

// A ParseError says that a text is not valid, in rrdtool's words.
type ParseError struct {
	Text string
	Err  error // has details for a program, such as a *RowError; nil: there are none
}

func (e *ParseError) Error() string { return e.Text }

func (e *ParseError) Unwrap() error { return e.Err }

func refuse(format string, args ...any) error { return &ParseError{Text: fmt.Sprintf(format, args...)} }
