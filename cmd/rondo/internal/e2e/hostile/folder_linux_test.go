package hostile

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers/rrdd"
	"github.com/rondo-db/rondo/rra"
)

func rrddSeeds(t *testing.T) [][]byte {
	t.Helper()
	return readFiles(t, filepath.Join(captures, "rrdd", "*.bin"))
}

// seal gives a damaged plugin file lengths and sums that are right, so that what is inside is read.
func seal(b []byte) {
	const header, text = 23, 54
	switch {
	case len(b) > text && b[11] == '\n':
		copy(b[12:], fmt.Sprintf("%08x\n%x\n", len(b)-text, md5.Sum(b[text:])))
	case len(b) > header+12:
		n := int64(binary.BigEndian.Uint32(b[19:]))
		values := 31 + 8*n
		if values+4 > int64(len(b)) {
			return
		}
		binary.BigEndian.PutUint32(b[11:], crc32.ChecksumIEEE(b[header:values]))
		binary.BigEndian.PutUint32(b[values:], uint32(int64(len(b))-values-4))
		binary.BigEndian.PutUint32(b[15:], crc32.ChecksumIEEE(b[values+4:]))
	}
}

// sealed returns a plugin file of version 1 with the given JSON.
func sealed(json string) []byte {
	return fmt.Appendf(nil, "DATASOURCES\n%08x\n%x\n%s", len(json), md5.Sum([]byte(json)), json)
}

// monsters are files that the system allows and that harm a careless reader.
func monsters(dir string) []func() error {
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, b []byte) func() error {
		return func() error { return os.WriteFile(at(name), b, 0o600) }
	}
	ignore := func(err error, what ...error) error {
		for _, e := range what {
			if errors.Is(err, e) {
				return nil
			}
		}
		return err
	}
	link := func(name, to string) func() error {
		return func() error { return ignore(os.Symlink(to, at(name)), fs.ErrExist) }
	}
	deep := func(open, close string) []byte {
		return sealed(`{"timestamp": 1700000000, "datasources": {"a": ` + strings.Repeat(open, 200_000) + "1" + strings.Repeat(close, 200_000) + "}}")
	}
	return []func() error{
		func() error { return ignore(syscall.Mkfifo(at("fifo"), 0o600), fs.ErrExist) },
		func() error { return ignore(os.Mkdir(at("folder"), 0o700), fs.ErrExist) },
		func() error {
			l, err := net.Listen("unix", at("socket"))
			if err == nil {
				err = l.Close()
			}
			return ignore(err, syscall.EADDRINUSE)
		},
		link("zero", "/dev/zero"), link("stdin", "/dev/stdin"), link("self", "self"), link("outside", "/etc/hostname"), link("memory", "/proc/self/mem"),
		func() error { // 1 TB that takes no room
			if err := os.WriteFile(at("sparse"), []byte("DATASOURCES\nffffffff\n"), 0o600); err != nil {
				return err
			}
			return ignore(os.Truncate(at("sparse"), 1<<40), syscall.EFBIG, syscall.EINVAL)
		},
		func() error { // version 2, whose header announces all there may be, and all of it zeros
			b := append([]byte("DATASOURCES"), make([]byte, 24)...)
			binary.BigEndian.PutUint32(b[31:], 1<<20-35)
			if err := os.WriteFile(at("zeros"), b, 0o600); err != nil {
				return err
			}
			return os.Truncate(at("zeros"), 1<<30)
		},
		write("closed", []byte("DATASOURCES")), func() error { return os.Chmod(at("closed"), 0) },
		write("deep-objects", deep(`{"a":`, "}")), write("deep-arrays", deep("[", "]")),
		write("long-name", sealed(`{"timestamp": 1700000000, "datasources": {"`+strings.Repeat("n", 900_000)+`": {"value": "1"}}}`)),
		write("escapes", sealed(`{"timestamp": 1700000000, "datasources": {"`+strings.Repeat(`\u0000`, 100_000)+`": {"value": "1"}}}`)),
		write("number", sealed(`{"timestamp": 1`+strings.Repeat("0", 900_000)+`, "datasources": {}}`)),
		write(strings.Repeat("n", 255), []byte("DATASOURCES")), write("new\nline \xff", []byte("DATASOURCES")),
	}
}

// folder makes a mess of a folder: monsters, damaged files written in place, and files that come
// and go.
func (a *attack) folder(ctx context.Context) error {
	var errs []error
	for _, make := range monsters(a.addr) {
		errs = append(errs, make())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	const files = 200
	for i := 0; pass(ctx, 200*time.Microsecond); i++ {
		name := filepath.Join(a.addr, fmt.Sprint("damaged-", a.mutator.IntN(files)))
		b := a.mutator.next()
		if a.mutator.IntN(2) == 0 {
			seal(b)
		}
		f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		cut := a.mutator.IntN(len(b) + 1) // a reader may come in between
		_, err = f.WriteAt(b[cut:], int64(cut))
		if err == nil {
			_, err = f.WriteAt(b[:cut], 0)
		}
		if err == nil && a.mutator.IntN(4) == 0 {
			err = f.Truncate(int64(len(b)))
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if a.mutator.IntN(8) == 0 {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
		a.sent.Add(1)
		a.bytes.Add(uint64(len(b)))
	}
	return nil
}

// rrddFresh is a file with a data source that no file had before.
func rrddFresh(i int) []byte {
	f := rrdd.File{
		Timestamp: float64(time.Now().Unix()), Sources: []rrdd.Source{{Name: fmt.Sprint("fresh-", i), Type: rrdd.Gauge}}, Values: []rra.Value{rra.Float(1)},
	}
	b, err := f.Append(nil)
	if err != nil {
		panic(err) // it would be so for every i
	}
	return b
}

// A rrddSender is a plugin.
type rrddSender struct {
	w rrdd.Writer
}

func newRRDDSender(_ *testing.T, dir string) goodSender {
	return &rrddSender{rrdd.Writer{Path: filepath.Join(dir, "good"), Atomic: true}}
}

func (s *rrddSender) paths() []string {
	paths := make([]string, goodSeries)
	for i := range paths {
		paths[i] = fmt.Sprint("rrdd/good/host/s", i)
	}
	return paths
}

func (s *rrddSender) send(n int) (int, error) {
	f := rrdd.File{Timestamp: float64(time.Now().Unix())}
	for i := range goodSeries {
		f.Sources = append(f.Sources, rrdd.Source{Name: fmt.Sprint("s", i), Type: rrdd.Gauge})
		f.Values = append(f.Values, rra.Float(float64(n)))
	}
	return 1, s.w.Write(&f)
}
