//go:build !unix

package core

import "os"

// mapsSparsely says that a mapping may be larger than the file.
const mapsSparsely = false

// metaPages would be the first two pages of the file. An open file cannot be cut here.
type metaPages struct{}

func mapMetas(*os.File, int) (*metaPages, error) { return new(metaPages), nil }

func (p *metaPages) check() error { return nil }

// unlock closes the file: it cannot be open twice here. Who reads meanwhile is told that it is not
// open.
func (o *opening) unlock() error { return o.bolt.Close() }

func (p *metaPages) unmap() {}
