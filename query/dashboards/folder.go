package dashboards

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// FolderName is the name of the folder in the database's folder.
const FolderName = "dashboards"

// MaxPages is how many pages there may be.
const MaxPages = 1000

// The errors of a Folder.
var (
	ErrNotFound = errors.New("there is no such dashboard")
	ErrName     = errors.New("a dashboard's name has 1 to 64 letters, digits, dots, hyphens and underscores, and begins with a letter or a digit")
	ErrFull     = fmt.Errorf("there are %d dashboards, which is as many as there may be", MaxPages)
	ErrFolder   = errors.New("the folder of the dashboards cannot be used")
	ErrFile     = errors.New("the file of the dashboard is no plain text file")
)

// A Folder is the folder of the pages of one database. It is made when the first page is saved. Its
// methods may be called at the same time.
type Folder struct {
	db string

	mu sync.Mutex // guards changes of the files
}

// In returns the folder of the pages of the database in the folder db.
func In(db string) *Folder { return &Folder{db: db} }

// An Entry is a page in a list.
type Entry struct{ Name, Title string }

// CheckName returns ErrName if a page cannot have that name.
func CheckName(name string) error {
	if len(name) > 64 || !pageName.MatchString(name) {
		return ErrName
	}
	return nil
}

var pageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// open opens the folder. No link leads out of the database's folder.
func (f *Folder) open(make bool) (*os.Root, error) {
	db, err := os.OpenRoot(f.db)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // it was only read
	if make {
		if err := db.Mkdir(FolderName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	root, err := db.OpenRoot(FolderName)
	if info, e := db.Lstat(FolderName); err != nil && e == nil && !info.IsDir() {
		err = fmt.Errorf("%w: %s in the database's folder is a link, or a file, and must be a folder", ErrFolder, FolderName)
	}
	return root, err
}

// List returns the pages in the order of their names. Files with other names are passed over. The
// title of a page that cannot be read is empty.
func (f *Folder) List() ([]Entry, error) {
	root, err := f.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	names, err := namesIn(root)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		e := Entry{Name: name}
		if text, err := read(root, name); err == nil {
			e.Title = titleOf(text)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// namesIn returns the names of the files that may be pages, sorted.
func namesIn(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // it was only read
	all, err := dir.ReadDir(4 * MaxPages)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var names []string
	for _, e := range all {
		if e.Type().IsRegular() && CheckName(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names[:min(len(names), MaxPages)], nil
}

// titleOf returns the title in a text, which need not be right.
func titleOf(text string) string {
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), titleWord); ok {
			if title = strings.TrimSpace(title); len(title) <= maxTitle {
				return title
			}
			return ""
		}
		if strings.HasPrefix(strings.TrimSpace(line), graphWord) {
			return ""
		}
	}
	return ""
}

// Read returns the text of a page. The error wraps ErrNotFound, ErrName or ErrFile, or is one of
// the file system. The text is UTF-8; [Parse] says whether it is a page.
func (f *Folder) Read(name string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	root, err := f.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNotFound
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }() // it was only read
	return read(root, name)
}

func read(root *os.Root, name string) (string, error) {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", ErrNotFound
	case err != nil:
		return "", err
	case !info.Mode().IsRegular(): // opening a pipe would wait
		return "", ErrFile
	case info.Size() > MaxText:
		return "", fmt.Errorf("%w: it has %d bytes, at most %d are possible", ErrFile, info.Size(), MaxText)
	}
	file, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) { // it was dropped meanwhile
		return "", ErrNotFound
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(file, MaxText+1))
	if err != nil {
		return "", err
	}
	text := string(b)
	if err := CheckText(text); err != nil {
		return "", err
	}
	return text, nil
}

// CheckText returns an error that wraps ErrFile if no page can have a text. [Parse] says whether it
// is a page without mistakes.
func CheckText(text string) error {
	if len(text) > MaxText || !utf8.ValidString(text) {
		return fmt.Errorf("%w: it is too long, or not UTF-8", ErrFile)
	}
	return nil
}
