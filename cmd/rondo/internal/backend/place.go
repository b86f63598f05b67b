package backend

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// A Place turns the file names that a caller gives into paths of series. The zero Place is the top
// of a database that stands for no folder of files.
type Place struct {
	base, real string // the folder that the database stands for, and the same without symbolic links
	dir        string // where relative names begin: Env.Dir
	hides      bool   // no files are made where programs look for them
}

// PlaceOf returns the place of the working folder in a database that stands for the folder base;
// empty: for none. If the working folder is outside base, relative names that do not lead into base
// begin at the top of the database. With hides no files are made where programs look for them.
func PlaceOf(base string, hides bool) (Place, error) {
	if base == "" {
		return Place{}, nil
	}
	abs, err := filepath.Abs(base)
	if err != nil {
		return Place{}, err
	}
	l := Place{base: abs, hides: hides}
	if r, err := filepath.EvalSymlinks(abs); err == nil && r != abs { // the folder need not be there
		l.real = r
	}
	wd, err := os.Getwd()
	if err != nil {
		return l, nil // a folder that is gone is outside
	}
	for _, base := range []string{l.base, l.real} {
		if rel, err := filepath.Rel(base, wd); base != "" && err == nil && filepath.IsLocal(rel) {
			if rel != "." {
				l.dir = filepath.ToSlash(rel)
			}
			return l, nil
		}
	}
	if filepath.ToSlash(wd)[0] == '/' {
		l.dir = filepath.ToSlash(wd)
	}
	return l, nil
}

// Set makes names mean in env what they mean at this place. Programs make a series when they see no
// file of its name in the base. So a file is made for each series.
func (l Place) Set(env *rrdtool.Env) {
	env.Base, env.RealBase, env.Dir = l.base, l.real, l.dir
	if l.base != "" && !l.hides {
		env.Seen = func(path string) bool { return transfer.Sees(l.base, path) }
		env.Made = func(path string) { transfer.Show(l.base, path) }
	}
}

// Below returns the path of the series that a file below the base stands for. It returns otherwise
// for a file elsewhere.
func (l Place) Below(name, otherwise string) string {
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

// describe gives a server this place.
func (l Place) describe(req *rondov1.ExecRequest) {
	req.Base, req.RealBase, req.Cwd = l.base, l.real, l.dir
}

// into returns the place where `rrdtool - FOLDER` begins.
func (l Place) into(folder string) (Place, error) {
	if folder == "" && strings.HasPrefix(l.dir, "/") {
		l.dir = "" // pwd and ls know folders of the database only
	}
	if folder == "" || l.base == "" {
		l.dir = strings.Trim(l.dir+"/"+folder, "/")
		return l, nil
	}
	env := rrdtool.Env{}
	l.Set(&env)
	dir, err := env.Path(folder)
	l.dir = dir
	return l, err
}
