package dashboards

import "os"

const markName = ".mark" // no page has such a name

// Mark returns what SetMark has kept last, or an empty text if that cannot be read.
func (f *Folder) Mark() string {
	root, err := f.open(false)
	if err != nil {
		return ""
	}
	defer func() { _ = root.Close() }() // it was only read
	mark, _ := read(root, markName)     // empty after an error
	return mark
}

// SetMark keeps a short text beside the pages: what the folder is a copy of, for whoever keeps a
// copy in it. The error is one of the file system.
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
