package transfer

// Hold bounds the size of the files that an import holds together.
func (o *Options) Hold(bytes int64) { o.hold = bytes }
