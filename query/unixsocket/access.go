package unixsocket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
)

// An Access says who may connect to a socket. The zero value allows only the owner.
type Access struct {
	// Mode is the mode of the socket's file; 0 means 0600, or 0660 with a group.
	Mode fs.FileMode
	// Group is the owning group, by name or number; empty means the process's own.
	Group string
}

// FileMode returns the mode that the file of a socket gets.
func (a Access) FileMode() fs.FileMode {
	switch {
	case a.Mode != 0:
		return a.Mode
	case a.Group != "":
		return 0o660
	}
	return 0o600
}

// Apply gives the file of a socket its mode and its group.
func (a Access) Apply(name string) error {
	if a.Group != "" {
		gid, err := GroupID(a.Group)
		if err != nil {
			return err
		}
		if err := os.Chown(name, -1, gid); err != nil {
			return fmt.Errorf("give it to the group %s, which its owner must be in: %w", a.Group, err)
		}
	}
	return os.Chmod(name, a.FileMode())
}

// GroupID returns the number of a group that is given by name or number.
func GroupID(name string) (int, error) {
	if id, err := strconv.Atoi(name); err == nil && id >= 0 {
		return id, nil
	}
	g, err := user.LookupGroup(name)
	if errors.As(err, new(user.UnknownGroupError)) {
		return 0, fmt.Errorf("there is no group %q", name)
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(g.Gid)
}
