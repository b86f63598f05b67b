package owner

import "errors"

// Why OpenFile refuses to open a file for writing.
var (
	errLink    = errors.New("it is a symbolic link, and rondo writes only files in the folder itself: link the folder instead")
	errNames   = errors.New("the file has a second name (a hard link), through which rondo would change another file: put a copy in its place")
	errRegular = errors.New("it is not a regular file")
)
