package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// errNoFiles says that the command cannot reach the caller's files.
var errNoFiles = errors.New("the server cannot reach files: run the command outside pipe mode")

// maxNative is the size of the largest native file that is read in place of a series, in bytes.
const maxNative = 1 << 31

// native is lookup for verbs that read. If no series has the name, it reads the native file of that
// name and makes a store of it for the command.
func (c *command) native(name string) (core.Ref, error) {
	ref, err := c.lookup(name)
	if err == nil || c.Files == nil || !errors.Is(err, errNoSuchFile) && !errors.Is(err, errPermission) {
		return ref, err
	}
	f, err := c.readNative(name, err)
	if err != nil {
		return 0, err
	}
	s, err := transfer.NewSingle(name, f)
	if err != nil {
		return 0, fmt.Errorf("reading '%s': %w", name, err)
	}
	env := *c.Env
	env.Store, env.Extra = s, nil
	c.Env = &env
	return s.Lookup(name)
}

// one reads the arguments of a verb about one series or native file, and finds it.
func (c *command) one(args []string, known []option, usage string) (name string, ref core.Ref, err error) {
	args, err = parse(args, known, func(option, arg string) error {
		if option == "daemon" {
			return c.daemon(arg)
		}
		return nil
	})
	if err != nil {
		return "", 0, err
	}
	if len(args) != 1 {
		return "", 0, errors.New(usage)
	}
	ref, err = c.native(args[0])
	return args[0], ref, err
}

// noted returns a better error than err, that no series has a name, if the file of that name is not
// rrdtool's, or a note that rondo has left for programs: somebody has moved or copied the note.
func (c *command) noted(name string, err error) error {
	f, e := c.Files.Open(name)
	if e != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	head := make([]byte, max(len(transfer.Note), rrdfile.ForeignBytes))
	n, e := io.ReadFull(f, head)
	head = head[:n]
	if e != nil && e != io.EOF && e != io.ErrUnexpectedEOF {
		return err
	}
	if !strings.HasPrefix(string(head), transfer.Note) {
		if what := rrdfile.Foreign(head); what != "" && n > 0 {
			return fmt.Errorf("'%s' is not an RRD file; it is %s", name, what)
		}
		return err
	}
	return fmt.Errorf("opening '%s': it is a note of rondo's, and there is no series of that name: rondo rename OLD NEW moves a series, mv and cp do not", name)
}

// owned is lookup for verbs that change a series. If no series has the name, it first imports the
// native file of that name, if there is one, with all its rows. The file itself stays unchanged.
func (c *command) owned(name string) (core.Ref, error) {
	ref, err := c.lookup(name)
	if _, daemon := c.Store.(tuner); err == nil || daemon || c.Files == nil || !errors.Is(err, errNoSuchFile) {
		return ref, err
	}
	path, e := c.Path(name)
	if e != nil {
		return 0, err
	}
	f, e := c.readNative(name, err)
	if e != nil {
		return 0, e
	}
	series, e := transfer.CopyOf(path, f)
	if e != nil {
		return 0, fmt.Errorf("reading '%s': %w", name, e)
	}
	// With ErrExists another caller was faster.
	if e := c.importSeries(series, false); e != nil && !errors.Is(e, core.ErrExists) {
		return 0, named(name, e)
	}
	return c.lookup(name)
}

// importSeries makes a series of a copy, or with overwrite in place of one that is there.
func (c *command) importSeries(series core.Copy, overwrite bool) error {
	_, err := c.Store.Create(c.ctx, series.Spec(overwrite))
	return err
}

// IsNative reports whether a name names a regular file that begins like a native file of rrdtool.
func IsNative(files Readable, name string) bool {
	info, err := files.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := files.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // nothing was written
	var head [4]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && transfer.IsNative(head[:])
}

// taken reports whether a file stands where the series of a name would: a native one, which verbs
// take for a series, or with Base any other that is no note of rondo's.
func (c *command) taken(name string) bool {
	if c.Files == nil {
		return false
	}
	if IsNative(c.Files, name) {
		return true
	}
	info, err := c.Files.Stat(name)
	return err == nil && c.Base != "" && info.Mode().IsRegular() && c.noted(name, nil) == nil
}

// readNative reads the native file of a name. missing is the error if there is no such file.
func (c *command) readNative(name string, missing error) (f *rrdfile.File, err error) {
	if !IsNative(c.Files, name) {
		return nil, c.noted(name, missing)
	}
	if f, err = openNative(c.Files, name); err != nil {
		return nil, fmt.Errorf("reading '%s': %w", name, err)
	}
	return f, nil
}

func openNative(files Files, name string) (*rrdfile.File, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read

	if local, ok := f.(*os.File); ok { // it need not be held beside its rows
		info, err := local.Stat()
		if err != nil {
			return nil, err
		}
		return rrdfile.Read(local, info.Size())
	}
	b, err := io.ReadAll(io.LimitReader(f, maxNative))
	if err != nil {
		return nil, err
	}
	return rrdfile.Decode(b)
}

// replacedTries is how often a command starts again because another series has taken the place of
// its own.
const replacedTries = 50

// series finds a series that is to be changed. It looks the name up again if the series is replaced
// meanwhile.
func (c *command) series(name string) (core.Series, error) {
	for tries := 0; ; tries++ {
		ref, err := c.owned(name)
		if err != nil {
			return core.Series{}, err
		}
		series, err := c.Store.Series(ref)
		if err == nil || !errors.Is(err, core.ErrNotFound) || tries == replacedTries {
			series.Ref = ref // a daemon does not return it
			return series, named(name, err)
		}
	}
}

// The errors of the C library that rrdtool reports about files, and rondo about series.
var (
	errNoSuchFile = errors.New("No such file or directory")
	errPermission = errors.New("Permission denied")
)

// Path returns the path of the series that a file name means: see [Path].
func (e *Env) Path(name string) (string, error) {
	dir := e.Dir
	if strings.HasPrefix(dir, "/") { // outside Base
		if into := path.Join(dir, name); name != "" && name[0] != '/' {
			for _, base := range []string{e.Base, e.RealBase} {
				if p, err := Path("", base, into); base != "" && err == nil {
					return p, nil
				}
			}
		}
		dir = ""
	}
	p, err := Path(dir, e.Base, name)
	if err != nil && e.RealBase != "" {
		p, err = Path(dir, e.RealBase, name)
	}
	return p, err
}

// Path returns the path of the series that a file name means. dir and base are described at [Env].
// Path removes "." and "//". A ".." that leads above the top, and an absolute name outside base,
// are errors with rrdtool's text for a file that it may not open.
func Path(dir, base, name string) (string, error) {
	rest, absolute := strings.CutPrefix(name, "/")
	if absolute {
		dir = ""
		if base != "" {
			base := "/" + strings.Trim(base, "/")
			inside, ok := strings.CutPrefix("/"+strings.TrimLeft(rest, "/"), base)
			if !ok || base != "/" && inside != "" && inside[0] != '/' {
				return "", errPermission
			}
			rest = inside
		}
	}
	var parts []string
	for part := range strings.SplitSeq(dir+"/"+rest, "/") {
		switch part {
		case "", ".":
		case "..":
			if len(parts) == 0 {
				return "", errPermission
			}
			parts = parts[:len(parts)-1]
		default:
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/"), nil
}

// pathTo returns the path of the series that a file name means. doing is what the caller wants of
// the file, for the error.
func (c *command) pathTo(doing, name string) (string, error) {
	path, err := c.Path(name)
	if err == nil && path == "" {
		err = errNoSuchFile
	}
	if err != nil {
		return "", fmt.Errorf("%s '%s': %w", doing, name, err)
	}
	return path, nil
}

// lookup returns the series that a file name means.
func (c *command) lookup(name string) (core.Ref, error) {
	path, err := c.pathTo("opening", name)
	if err != nil {
		return 0, err
	}
	ref, err := c.Store.Lookup(path)
	return ref, named(name, err)
}

// named replaces an error of the store by rrdtool's text for it.
func named(name string, err error) error {
	if errors.Is(err, core.ErrNotFound) {
		return fmt.Errorf("opening '%s': %w", name, errNoSuchFile)
	}
	return err
}
