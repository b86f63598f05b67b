package dashboards

import (
	"io"
	"os"
)

const (
	markName = ".mark" // no page has such a name
	maxMark  = 64      // bytes
)

// Mark returns what SetMark has kept last; empty: nothing that can be read.
func (f *Folder) Mark() string {
	root, err := f.open(false)
	if err != nil {
		return ""
	}
	defer func() { _ = root.Close() }() // it was only read
	if info, err := root.Lstat(markName); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	file, err := root.Open(markName)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(file, maxMark))
	if err != nil {
		return ""
	}
	return string(b)
}

// SetMark keeps a text of at most 64 bytes beside the pages, for whoever keeps a copy in the
// folder. The error is one of the file system.
func (f *Folder) SetMark(mark string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	root, err := f.open(true)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // its files are synced
	return replace(root, markName, mark)
}

// replace writes a file in place of another one, whole.
func replace(root *os.Root, name, text string) error {
	draft := "." + name + ".new" // no page has such a name
	if err := write(root, draft, text); err != nil {
		_ = root.Remove(draft) // the next call removes it otherwise
		return err
	}
	if err := root.Rename(draft, name); err != nil {
		return err
	}
	return syncFolder(root)
}
