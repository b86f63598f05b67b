package cli

import (
	"errors"
	"io/fs"
	"os"
)

// PathError returns an error of the file system without the names of files.
func PathError(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		return at.Err
	}
	return err
}
