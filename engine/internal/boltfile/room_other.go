//go:build !linux && !darwin && !freebsd

package boltfile

import "errors"

// Room returns how many bytes this process may still write to the disk of the folder dir.
func Room(string) (int64, error) {
	return 0, errors.New("the free space of a disk is not known on this system")
}
