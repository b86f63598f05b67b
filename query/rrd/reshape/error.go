package reshape

import "fmt"

// A Reason says why a change cannot be made.
type Reason int

// The reasons, with the fields of Error that each one sets.
const (
	NameTaken Reason = iota + 1 // Source: another data source has the name already
	// Source would mean something else in the expression of OtherSource
	NameAmbiguous
	NoSource      // no data source would be left
	NoArchive     // no archive would be left
	SourceNeeded  // the expression of data source OtherSource needs Source
	ArchiveNeeded // archive OtherArchive needs Archive
	RowCount      // Archive cannot have Rows rows
)

// An Error says which change cannot be made, and why. The series is then partly changed and must
// not be used.
type Error struct {
	Reason              Reason
	Source, OtherSource string // names of data sources
	Archive             int    // an index
	OtherArchive        int
	Rows                int64
}

// Error prints the fields for a log. Programs that talk to people word the error themselves.
func (e *Error) Error() string {
	return fmt.Sprintf("reshape: reason %d, data sources %q and %q, archives %d and %d, %d rows",
		e.Reason, e.Source, e.OtherSource, e.Archive, e.OtherArchive, e.Rows)
}
