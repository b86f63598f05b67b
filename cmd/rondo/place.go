package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// baseVariable names the folder of files that the database stands for.
const baseVariable = "RONDO_BASE"

// filesVariable says with 0 that nobody looks for files.
const filesVariable = "RONDO_FILES"

// A place is how the file names of whoever calls become paths of series.
type place struct {
	base, real string // the folder that the database stands for, and the same without symbolic links
	dir        string // where relative names begin, from base
	hides      bool   // no files are made where programs look for them
}

// place returns what RONDO_BASE and the working folder say. Outside the base, and without one, relative names begin at the top of the
// database.
func (p *process) place() (place, error) {
	base := p.base()
	if base == "" {
		return place{}, nil
	}
	abs, err := filepath.Abs(base)
	if err != nil {
		return place{}, err
	}
	l := place{base: abs, hides: p.getenv(filesVariable) == "0"}
	if r, err := filepath.EvalSymlinks(abs); err == nil && r != abs { // the folder need not be there
		l.real = r
	}
	wd, err := os.Getwd()
	if err != nil {
		return l, nil // a folder that is gone is outside
	}
	for _, base := range []string{l.base, l.real} {
		if rel, err := filepath.Rel(base, wd); base != "" && err == nil && filepath.IsLocal(rel) && rel != "." {
			l.dir = filepath.ToSlash(rel)
			break
		}
	}
	return l, nil
}

// set makes env one at this place. Programs make a series when they see no file of its name in the base: they get one to see.
func (l place) set(env *rrdtool.Env) {
	env.Base, env.RealBase, env.Dir = l.base, l.real, l.dir
	if l.base != "" && !l.hides {
		env.Seen = func(path string) bool { return transfer.Sees(l.base, path) }
		env.Made = func(path string) { transfer.Show(l.base, path) }
	}
}

// below returns the path of the series that a file below the base is, and otherwise for a file elsewhere.
func (l place) below(name, otherwise string) string {
	abs, err := filepath.Abs(name)
	if err != nil {
		return otherwise
	}
	for _, base := range []string{l.base, l.real} {
		if rel, err := filepath.Rel(base, abs); base != "" && err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return otherwise
}

// describe tells a server of this place.
func (l place) describe(req *rondov1.ExecRequest) {
	req.Base, req.RealBase, req.Cwd = l.base, l.real, l.dir
}

// into returns the place one has gone to with `rrdtool - FOLDER`.
func (l place) into(folder string) (place, error) {
	if folder == "" || l.base == "" {
		l.dir = strings.Trim(l.dir+"/"+folder, "/")
		return l, nil
	}
	env := rrdtool.Env{}
	l.set(&env)
	dir, err := env.Path(folder)
	l.dir = dir
	return l, err
}
