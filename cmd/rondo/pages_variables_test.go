package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestVariablesInPages looks for the variables of the gate and the tests in the page on changing
// rondo.
func TestVariablesInPages(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`\bRONDO_[A-Z_]*[A-Z]\b`)
	named := map[string]bool{}
	for _, v := range variable.FindAllString(string(page), -1) {
		named[v] = true
	}
	used := map[string]string{}
	err = filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		tests := strings.HasSuffix(rel, "_test.go") || rel == ".ci/run" || rel == ".ci/soak" || rel == "Makefile"
		for dir := range testOnly {
			tests = tests || strings.HasPrefix(rel, dir+"/")
		}
		if !tests {
			return nil
		}
		text, err := os.ReadFile(name)
		for _, v := range variable.FindAllString(string(text), -1) {
			used[v] = rel
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for v, where := range used {
		if !named[v] {
			t.Errorf("CONTRIBUTING.md does not name %s of %s", v, where)
		}
	}
	if len(used) < 10 {
		t.Errorf("only %d variables found", len(used))
	}
}

// TestStepsInPages: CONTRIBUTING.md names each step of the gate and each kind of the soak.
func TestStepsInPages(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	for script, list := range map[string]string{"run": "steps", "soak": "kinds"} {
		text, err := os.ReadFile(filepath.Join(root, ".ci", script))
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`(?m)^` + list + `=\((.*)\)$`).FindStringSubmatch(string(text))
		if m == nil {
			t.Fatalf(".ci/%s has no list of %s", script, list)
		}
		for name := range strings.FieldsSeq(m[1]) {
			if !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("CONTRIBUTING.md does not name %s of .ci/%s", name, script)
			}
		}
	}
}
