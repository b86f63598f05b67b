package core_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// besides returns what Options.Beside is for some texts.
func besides(texts map[string]string) func(func(string, []byte) error) error {
	return func(put func(string, []byte) error) error {
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			if err := put(name, []byte(texts[name])); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestBackupsHoldTextsBesideTheDatabase: a backup and its increments restore the texts of the
// newest, and a replica gets none.
func TestBackupsHoldTextsBesideTheDatabase(t *testing.T) {
	texts := map[string]string{"dashboards/web": "title: a", "dashboards/old": "title: b", "rules/x.yml": "groups: []"}
	s, err := core.Open(t.TempDir(), core.Options{Beside: func(put func(string, []byte) error) error { return besides(texts)(put) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { mustClose(t, s.Close()) }()
	full := since(t, s, nil)
	delete(texts, "dashboards/old")
	texts["dashboards/web"] = "title: new"
	part := since(t, s, full)
	got, err := core.VerifyBackups(t.Context(), backupFiles(t, full, part)...)
	if err != nil || got.Beside != 5 {
		t.Errorf("%d texts in both, want 5: %v", got.Beside, err)
	}
	dir := filepath.Join(t.TempDir(), "restored")
	if err := core.RestoreFiles(dir, backupFiles(t, full, part)...); err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	for _, folder := range []string{"dashboards", "rules"} {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(dir, folder, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			found[folder+"/"+e.Name()] = string(text)
		}
	}
	if !maps.Equal(found, texts) {
		t.Errorf("restored %v, want %v", found, texts)
	}
	replica := filepath.Join(t.TempDir(), "replica")
	if err := core.RestoreReplica(bytes.NewReader(full), replica); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(replica, "dashboards")); err == nil {
		t.Error("a replica has dashboards")
	}
}

// TestTextsStayInTheirFolders: no backup is made with, and none restores, a text that would be
// elsewhere, that comes twice or that is too long.
func TestTextsStayInTheirFolders(t *testing.T) {
	for _, name := range []string{"", "web", "dashboards", "dashboards/", "dashboards/../x", "dashboards/.x", "dashboards/a/b", "wal/x", "/rules/x", `rules/a\b`, "rules/c:x", "rules/\x00"} {
		s, err := core.Open(t.TempDir(), core.Options{Beside: besides(map[string]string{name: "x"})})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Backup(t.Context(), new(bytes.Buffer)); err == nil {
			t.Errorf("%q was taken into a backup", name)
		}
		mustClose(t, s.Close())
	}
	s, err := core.Open(t.TempDir(), core.Options{Beside: besides(map[string]string{"rules/ab": "x", "rules/cd": "y"})})
	if err != nil {
		t.Fatal(err)
	}
	plain := decompress(t, mustBackup(t, s))
	mustClose(t, s.Close())
	for _, name := range []string{"rules/..", "rules//", "wals//ab", "rules/.a", "rules/cd"} {
		dir := filepath.Join(t.TempDir(), "r")
		changed := bytes.Replace(plain, []byte("rules/ab"), []byte(name), 1)
		if err := core.Restore(bytes.NewReader(compress(t, summed(changed))), dir); err == nil {
			t.Errorf("%q was restored", name)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%q: the folder is still there", name)
		}
	}
	if err := core.Restore(bytes.NewReader(compress(t, plain)), filepath.Join(t.TempDir(), "r")); err != nil {
		t.Errorf("unchanged: %v", err)
	}
}
