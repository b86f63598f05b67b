package core

import (
	"io"
	"os"
	"path/filepath"
)

// A spool keeps what is read from a transaction until a reader that may be slow has taken it, so
// that the transaction is short: in memory up to spoolMemory bytes, then in a file.
type spool struct {
	s    *Store
	buf  []byte
	file *os.File // holds what came before buf; nil: nothing
}

// spoolMemory is more than the catalogue of 50,000 series takes: on a full disk a backup of so many
// needs no file.
const spoolMemory = 16 << 20

// Write implements io.Writer.
func (sp *spool) Write(p []byte) (int, error) {
	sp.buf = append(sp.buf, p...)
	if len(sp.buf) > spoolMemory {
		return len(p), sp.spill()
	}
	return len(p), nil
}

// spill moves what is in memory into the file.
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

// copyTo hands all of it to write, a piece at a time.
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

// close throws it away.
func (sp *spool) close() {
	if sp.file != nil {
		_ = sp.file.Close()
		_ = os.Remove(sp.file.Name()) // where it still has a name
	}
}

// fileSpool is where a backup keeps the catalogue meanwhile. The name is gone as soon as the file
// is open, where the system allows it; else whoever opens the store next takes away what a crash
// left.
const fileSpool = "rondo.spool"

// createSpool makes a file that nobody else sees, in the store's folder or, where that is only to
// be read or another backup has just begun, in the system's for temporary files.
func (s *Store) createSpool() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(s.dir, fileSpool), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		if f, err = os.CreateTemp("", "rondo-spool-*"); err != nil {
			return nil, err
		}
	}
	_ = os.Remove(f.Name()) // not while it is open, on some systems: then it is done when it is closed
	return f, nil
}

// removeSpool removes what a backup left that a crash has ended.
// it costs space only
func (s *Store) removeSpool() { _ = os.Remove(filepath.Join(s.dir, fileSpool)) }
