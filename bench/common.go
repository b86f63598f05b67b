package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// common are the flags that several commands have.
type common struct {
	rondo string
}

// findRondo returns the path of the rondo program to measure.
func (c *common) findRondo() (string, error) {
	path, err := find("rondo", "--rondo", c.rondo)
	if err != nil {
		return "", fmt.Errorf("no program to measure: %w", err)
	}
	return path, nil
}

// find returns the path of a program: the one that the user named with a flag, else the one beside
// this program, else the one in the PATH.
func find(name, flag, named string) (string, error) {
	if named != "" {
		return filepath.Abs(named)
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w (%s says where it is)", err, flag)
	}
	return filepath.Abs(found)
}

// workFolder returns the absolute path of the folder to work in, and a function that removes the
// folder if it is a temporary one. A folder that the user names must be new or empty.
func workFolder(dir string) (string, func() error, error) {
	if dir != "" {
		entries, err := os.ReadDir(dir)
		if err == nil && len(entries) > 0 {
			err = fmt.Errorf("--dir %s: the folder is not empty", dir)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
		dir, err = filepath.Abs(dir)
		return dir, func() error { return nil }, err
	}
	dir, err := os.MkdirTemp("", "rondo-bench-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}

// A comparison is what the commands share that compare rondo with another program.
type comparison struct {
	*common
	dir         string
	alone, json bool
}

func (c *comparison) addFlags(f *pflag.FlagSet) {
	f.StringVar(&c.dir, "dir", "", "`folder` for both programs, new or empty (default: a temporary one, removed afterwards)")
	f.BoolVar(&c.alone, "alone", false, "measure rondo only")
	f.BoolVar(&c.json, "json", false, "print JSON")
}

// other returns the path of the program to compare with, as find finds it. The path is empty if
// rondo is measured alone, and if the program is not found, which is said.
func (c *comparison) other(cmd *cobra.Command, find func() (string, error)) string {
	if c.alone {
		return ""
	}
	path, err := find()
	if err != nil {
		// The figures matter.
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "rondo-bench: not compared: %v\n", err)
		return ""
	}
	return path
}
