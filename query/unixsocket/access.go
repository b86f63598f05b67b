package unixsocket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
)

// An Access says who may connect to a socket. The zero value is its owner alone.
type Access struct {
	// Mode is that of the socket's file; 0: 0600, or 0660 with a group.
	Mode fs.FileMode
	// Group is the owning group, by name or number; empty: the process's.
	Group string
}

// Apply gives the file of a socket its mode and its group.
func (a Access) Apply(name string) error {
	mode := a.Mode
	if mode == 0 {
		mode = 0o600
		if a.Group != "" {
			mode = 0o660
		}
	}
	if a.Group != "" {
		gid, err := GroupID(a.Group)
		if err != nil {
			return err
		}
		if err := os.Chown(name, -1, gid); err != nil {
			return fmt.Errorf("give it to the group %s, which its owner must be in: %w", a.Group, err)
		}
	}
	return os.Chmod(name, mode)
}

// GroupID returns the number of a group, which is given by name or number.
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
