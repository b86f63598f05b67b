//go:build !unix

package conffile

// openFlags are none where no pipe has a name in the file system.
const openFlags = 0
