package backup

import (
	"io"
	"os"
	"path/filepath"
)

// A Spool holds data that was read in a transaction until a slow reader has it, so that the
// transaction is short. It keeps up to spoolMemory bytes in memory, and more in a file.
type Spool struct {
	dir  string
	buf  []byte
	file *os.File // holds the bytes before buf; may be nil
}

// NewSpool returns an empty spool, whose file would lie in the folder dir.
func NewSpool(dir string) *Spool { return &Spool{dir: dir} }

// spoolMemory is more than the catalogue of 50,000 series takes. A backup of that many series needs
// no file, so it works on a full disk.
const spoolMemory = 16 << 20

// Write implements io.Writer.
func (sp *Spool) Write(p []byte) (int, error) {
	sp.buf = append(sp.buf, p...)
	if len(sp.buf) > spoolMemory {
		return len(p), sp.spill()
	}
	return len(p), nil
}

// spill moves buf into the file.
func (sp *Spool) spill() (err error) {
	if sp.file == nil {
		if sp.file, err = sp.create(); err != nil {
			return err
		}
	}
	_, err = sp.file.Write(sp.buf)
	sp.buf = sp.buf[:0]
	return err
}

// CopyTo writes everything to w, piece by piece.
func (sp *Spool) CopyTo(w io.Writer) error {
	if sp.file == nil {
		_, err := w.Write(sp.buf)
		return err
	}
	if err := sp.spill(); err != nil {
		return err
	}
	if _, err := sp.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.CopyBuffer(w, struct{ io.Reader }{sp.file}, make([]byte, 1<<20))
	return err
}

// Close drops everything.
func (sp *Spool) Close() {
	if sp.file != nil {
		_ = sp.file.Close()
		_ = os.Remove(sp.file.Name()) // if create could not
	}
}

// SpoolFile is the name of a spool's file. create removes the name at once, if the system
// allows that for an open file. Otherwise the next Open removes a file that a crash left.
const SpoolFile = "rondo.spool"

// create makes a file that nobody else sees. It lies in the folder of the store. If the folder
// is read-only, or another backup has just begun, it lies in the folder for temporary files.
func (sp *Spool) create() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(sp.dir, SpoolFile), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		if f, err = os.CreateTemp("", "rondo-spool-*"); err != nil {
			return nil, err
		}
	}
	_ = os.Remove(f.Name()) // some systems refuse while the file is open: Close removes it then
	return f, nil
}
