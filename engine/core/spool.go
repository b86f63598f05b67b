package core

import (
	"io"
	"os"
	"path/filepath"
)

// A spool holds data that was read in a transaction until a slow reader has it, so that the
// transaction is short. It keeps up to spoolMemory bytes in memory, and more in a file.
type spool struct {
	s    *Store
	buf  []byte
	file *os.File // holds the bytes before buf; may be nil
}

// spoolMemory is more than the catalogue of 50,000 series takes. A backup of that many series needs
// no file, so it works on a full disk.
const spoolMemory = 16 << 20

// Write implements io.Writer.
func (sp *spool) Write(p []byte) (int, error) {
	sp.buf = append(sp.buf, p...)
	if len(sp.buf) > spoolMemory {
		return len(p), sp.spill()
	}
	return len(p), nil
}

// spill moves buf into the file.
func (sp *spool) spill() (err error) {
	if sp.file == nil {
		if sp.file, err = sp.s.createSpool(); err != nil {
			return err
		}
	}
	_, err = sp.file.Write(sp.buf)
	sp.buf = sp.buf[:0]
	return err
}

// copyTo passes everything to write, piece by piece.
func (sp *spool) copyTo(write func([]byte) error) error {
	if sp.file == nil {
		return write(sp.buf)
	}
	if err := sp.spill(); err != nil {
		return err
	}
	if _, err := sp.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	buf := make([]byte, 1<<20)
	for {
		n, err := sp.file.Read(buf)
		if n > 0 {
			if err := write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// close drops everything.
func (sp *spool) close() {
	if sp.file != nil {
		_ = sp.file.Close()
		_ = os.Remove(sp.file.Name()) // if createSpool could not
	}
}

// fileSpool is the name of a spool's file. createSpool removes the name at once, if the system
// allows that for an open file. Otherwise the next Open removes a file that a crash left.
const fileSpool = "rondo.spool"

// createSpool makes a file that nobody else sees. It lies in the folder of the store. If the folder
// is read-only, or another backup has just begun, it lies in the folder for temporary files.
func (s *Store) createSpool() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(s.dir, fileSpool), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		if f, err = os.CreateTemp("", "rondo-spool-*"); err != nil {
			return nil, err
		}
	}
	_ = os.Remove(f.Name()) // some systems refuse while the file is open: close removes it then
	return f, nil
}
