package main

import (
	"errors"
	"io/fs"
	"os"
)

// pathError returns an error of the file system without the names of files.
func pathError(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		return at.Err
	}
	return err
}
