package rrdtool

import (
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/query/rrd/reshape"
)

// worded gives an error of package reshape its message. It returns other errors unchanged.
func worded(err error) error {
	e, ok := errors.AsType[*reshape.Error](err)
	if !ok {
		return err
	}
	switch e.Reason {
	case reshape.NameTaken:
		return fmt.Errorf("there is a data source '%s' already", e.Source)
	case reshape.NameAmbiguous:
		return fmt.Errorf("'%s' means something else in the expression of '%s'", e.Source, e.OtherSource)
	case reshape.NoSource:
		return errors.New("a series needs a data source")
	case reshape.NoArchive:
		return errors.New("a series needs an archive")
	case reshape.SourceNeeded:
		return fmt.Errorf("data source '%s' is needed by '%s'", e.Source, e.OtherSource)
	case reshape.ArchiveNeeded:
		return fmt.Errorf("archive %d is needed by archive %d", e.Archive, e.OtherArchive)
	case reshape.RowCount:
		return fmt.Errorf("archive %d cannot have %d rows", e.Archive, e.Rows)
	}
	return err
}
