package graphite

import (
	"fmt"
	"os"
	"time"

	"github.com/rondo-db/rondo/internal/conffile"
)

// A rule is a section of one of carbon's files.
type rule interface{ matches(name string) bool }

// A ruleFile is one of carbon's files, which is read again when it changes.
type ruleFile[R rule] struct {
	name  string // empty: there is no file
	parse func(section) (R, error)
	rules []R
	mtime time.Time
	size  int64
}

// maxFile is the size of the largest file, in bytes.
const maxFile = 1 << 20

func (f *ruleFile[R]) open(name string, parse func(section) (R, error)) error {
	f.name, f.parse = name, parse
	_, err := f.refresh()
	return err
}

// refresh reads the file again if it has changed, and reports whether it has. If there is an error
// the old rules stay.
func (f *ruleFile[R]) refresh() (changed bool, err error) {
	if f.name == "" {
		return false, nil
	}
	fi, err := os.Stat(f.name)
	if err != nil {
		return false, err
	}
	if fi.ModTime().Equal(f.mtime) && fi.Size() == f.size {
		return false, nil
	}
	f.mtime, f.size = fi.ModTime(), fi.Size() // of a file that is wrong, too: it is reported once
	text, err := conffile.Read(f.name, maxFile)
	if err != nil {
		return false, err
	}
	sections, err := parseSections(string(text))
	if err != nil {
		return false, fmt.Errorf("%s: %w", f.name, err)
	}
	var rules []R
	for _, s := range sections {
		r, err := f.parse(s)
		if err != nil {
			return false, fmt.Errorf("%s: line %d: [%s]: %w", f.name, s.line, s.name, err)
		}
		rules = append(rules, r)
	}
	f.rules = rules
	return true, nil
}

// match returns the first rule that matches a name; nil: none does.
func (f *ruleFile[R]) match(name string) *R {
	for i := range f.rules {
		if f.rules[i].matches(name) {
			return &f.rules[i]
		}
	}
	return nil
}
