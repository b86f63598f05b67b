package dashboards

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// Save writes the text of a page, in place of the page that has the name now. After a crash the
// file has the former text or the new one. The error is a [*ParseError] if the text is no page;
// otherwise it wraps ErrName or ErrFull, or is one of the file system. It does not look at ctx.
func (f *Folder) Save(_ context.Context, name, text string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if _, err := Parse(text); err != nil {
		return err
	}
	return f.Keep(name, text)
}

// Keep is Save for a text that may have mistakes, as a file may that somebody has edited. The error
// wraps ErrFile if no page can have the text.
func (f *Folder) Keep(name, text string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := CheckText(text); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	root, err := f.open(true)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // its files are synced
	if err := room(root, name); err != nil {
		return err
	}
	return replace(root, name, text)
}

// room returns an error if one more page is too many, or if something else than a file has the
// name.
func room(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return ErrFile
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	names, err := namesIn(root)
	if err == nil && len(names) >= MaxPages {
		err = ErrFull
	}
	return err
}

// write makes a file and waits until it is on the disk.
func write(root *os.Root, name, text string) error {
	_ = root.Remove(name) // what a crash has left
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Sync(), file.Close())
}

// syncFolder waits until the names in a folder are on the disk.
func syncFolder(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Drop removes a page. The error wraps ErrNotFound or ErrName, or is one of the file system. It
// does not look at ctx.
func (f *Folder) Drop(_ context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	root, err := f.open(false)
	if err == nil {
		defer func() { _ = root.Close() }() // its files are synced
		if err = root.Remove(name); err == nil {
			return syncFolder(root)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	return err
}

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
