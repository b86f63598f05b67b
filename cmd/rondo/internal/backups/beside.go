package backups

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/internal/conffile"
	"github.com/rondo-db/rondo/query/dashboards"
	"github.com/rondo-db/rondo/query/prom/alerts"
)

// RulesFolder is the folder in a restored database's folder that has the files of rules.
const RulesFolder = "rules"

// Beside returns the Options.Beside of the database in the folder db, whose server has these
// --rule-file: its dashboards and the files of rules. What cannot be read is given to warn and left
// out. Files of one name get numbers in front.
func Beside(db string, rules []string, warn func(what string, err error)) func(func(string, []byte) error) error {
	return func(put func(name string, content []byte) error) error {
		folder := dashboards.In(db)
		list, err := folder.List()
		if err != nil {
			warn("dashboards", err)
		}
		for _, e := range list {
			text, err := folder.Read(e.Name)
			if err != nil {
				warn("dashboard "+e.Name, err)
			} else if err := put(dashboards.FolderName+"/"+e.Name, []byte(text)); err != nil {
				return err
			}
		}
		files, err := alerts.Files(rules)
		if err != nil {
			warn("--rule-file", err)
		}
		for _, f := range named(files) {
			content, err := conffile.Read(f.path, alerts.MaxFile)
			if err != nil {
				warn("file of rules", err)
			} else if err := put(RulesFolder+"/"+f.name, content); err != nil {
				return err
			}
		}
		return nil
	}
}

type namedFile struct{ name, path string }

// named gives files different names without folders, and returns them in the order of these.
func named(files []string) (out []namedFile) {
	taken := make(map[string]bool)
	for _, path := range files {
		base := strings.TrimLeft(filepath.Base(path), ".")
		name := base
		for n := 2; taken[name]; n++ {
			name = strconv.Itoa(n) + "-" + base
		}
		taken[name] = true
		out = append(out, namedFile{name, path})
	}
	slices.SortFunc(out, func(a, b namedFile) int { return strings.Compare(a.name, b.name) })
	return out
}
