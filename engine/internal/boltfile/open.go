package boltfile

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/internal/owner"
)

// Open opens the file name, and makes it if it does not exist and o allows to write. The error is
// a *damage.Error if the file is damaged in a way that keeps bbolt from opening it.
func Open(name string, o Options) (*File, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Damage == nil {
		o.Damage = new(damage.Seen)
	}
	f := &File{name: name, options: o}
	first, err := f.open(nil)
	if err != nil {
		return nil, err
	}
	f.current.Store(first)
	return f, nil
}

// open opens the file with bbolt; old is the opening that it replaces, or nil.
func (f *File) open(old *opening) (*opening, error) {
	o := &opening{idle: make(chan struct{}, 1)}
	size, err := f.checkFile()
	if err != nil {
		return nil, err
	}
	if err := f.openBolt(o, old, size); err != nil {
		return nil, err
	}
	if o.info, err = o.file.Stat(); err == nil {
		err = checkBranches(o.file, o.info.Size())
	}
	if err == nil {
		o.metas, err = mapMetas(o.file, o.bolt.Info().PageSize)
	}
	if err != nil {
		return nil, errors.Join(err, o.bolt.Close())
	}
	return o, nil
}

// openBolt calls bbolt's Open on the file, which has size bytes.
func (f *File) openBolt(o, old *opening, size int64) error {
	opt := bolt.Options{
		FreelistType: bolt.FreelistMapType, ReadOnly: f.options.ReadOnly, NoSync: f.options.NoSync, Timeout: 2 * time.Second,
		NoStatistics: true, // they cost a reading transaction two locks and a dozen additions
	}
	opt.OpenFile = func(name string, flag int, perm fs.FileMode) (file *os.File, err error) {
		if err := f.Ask("open"); err != nil {
			return nil, err
		}
		if old != nil {
			file, err = openSame(name, flag&^os.O_CREATE, old.info)
		} else {
			file, err = owner.OpenFile(name, flag, perm)
		}
		o.file = file
		return file, err
	}
	// A large mapping takes address space, not memory. To grow a mapping bbolt waits for all
	// readers. A process that is short of address space gets a smaller mapping.
	for _, size := range mapSizes(size) {
		if !opt.ReadOnly {
			opt.InitialMmapSize = size
		}
		var err error
		damaged := f.Guard(nil, func() error {
			o.bolt, err = bolt.Open(f.name, 0o600, &opt)
			return nil
		})
		if damaged != nil { // the panic kept bbolt from closing it
			_ = o.file.Close()
			return damaged
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.ENOMEM) || size == 0 {
			return openError(err)
		}
	}
	return nil // the last size is 0: its error has been returned
}

// openError returns an error of bbolt's Open, as a *damage.Error if it says that the file is
// damaged.
func openError(err error) error {
	if errors.Is(err, bolterrors.ErrInvalid) || errors.Is(err, bolterrors.ErrChecksum) || errors.Is(err, bolterrors.ErrVersionMismatch) {
		return &damage.Error{Err: err}
	}
	return err
}

// mapSizes are the sizes of mapping to try, in bytes, for a file of size bytes. Windows would make
// the file as large as its mapping.
func mapSizes(size int64) []int {
	if strconv.IntSize < 64 || !mapsSparsely {
		return []int{0}
	}
	return []int{max(1<<(strconv.IntSize-29), int(min(size, 1<<44))*4), 0}
}

// checkFile refuses a file that bbolt would open and then fail to read: a file that ends before its
// pages do, or one with a damaged list of free pages. A missing file passes: bbolt makes it.
// It returns the bytes of the file.
func (f *File) checkFile() (size int64, err error) {
	if err := f.Ask("read"); err != nil {
		return 0, err
	}
	file, err := os.Open(f.name)
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // it was only read
	st, err := file.Stat()
	if err != nil {
		return 0, err
	}
	if st.Size() == 0 {
		return 0, &damage.Error{Err: errors.New("the file is empty: it was cut")}
	}
	m, err := wholeMeta(file, st.Size())
	if err != nil {
		return 0, err
	}
	_, _, err = readFreelist(file, m)
	return st.Size(), err
}

// checkLength refuses a file that ends before its pages do, and returns its meta page. If it were
// opened, a transaction would make the file long again, with holes where pages were; then the log,
// which still has what those pages held, would be truncated.
func checkLength(f *os.File) (metaPage, error) {
	st, err := f.Stat()
	if err != nil {
		return metaPage{}, err
	}
	return wholeMeta(f, st.Size())
}

// checkBranches refuses a file whose pages lead in a circle, which bbolt would follow until its
// stack is full. It reads the branch pages, about one page in a hundred.
func checkBranches(f io.ReaderAt, size int64) error {
	var found []damage.Error
	unfit, err := walkPages(f, size, true, func(bucket, what string) {
		found = append(found, damage.Error{Bucket: bucket, Err: errors.New(what)})
	})
	for i := range found {
		if err == nil && unfit[found[i].Bucket] {
			err = &found[i]
		}
	}
	return err
}
