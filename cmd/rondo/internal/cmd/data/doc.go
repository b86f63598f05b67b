// Package data has the commands that work on a whole database or on many series: import and export,
// drop and rename, backups, checks and repairs, and the log.
package data

import (
	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
)

// here returns the database that this process opens for a command.
func here(c *cli.Factory, command string) (backend.Target, error) {
	t := c.Target()
	if err := t.OnlyHere(command); err != nil {
		return t, err
	}
	return t, t.Here()
}
