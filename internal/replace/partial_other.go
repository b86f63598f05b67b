//go:build !unix

package replace

import "os"

// createPartial makes a file, or reuses one that a killed process has left.
func createPartial(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}
