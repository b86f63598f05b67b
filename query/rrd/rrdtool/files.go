package rrdtool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// Files are the files of whoever asks: what restore reads, what dump writes, and native files that verbs read in place of a series.
type Files interface {
	Readable
	Create(name string) (io.WriteCloser, error)
}

// Readable are files that can be looked at and read.
type Readable interface {
	Stat(name string) (fs.FileInfo, error)
	Open(name string) (io.ReadCloser, error)
}

// OSFiles are the files of this process.
type OSFiles struct{}

// Stat is os.Stat.
func (OSFiles) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// Open is os.Open.
func (OSFiles) Open(name string) (io.ReadCloser, error) { return os.Open(name) }

// Create is os.Create.
func (OSFiles) Create(name string) (io.WriteCloser, error) { return os.Create(name) }

// errNoFiles says that the command runs where the files of whoever asks are not.
var errNoFiles = errors.New("the server cannot reach files: run the command outside pipe mode")

// maxNative is the largest native file that is read in place of a series.
const maxNative = 1 << 31

// native is lookup for verbs that read: the series of a name, or, where there is none, of the native file of that name.
func (c *command) native(name string) (core.Ref, error) {
	ref, err := c.lookup(name)
	if err == nil || c.Files == nil || !errors.Is(err, errNoSuchFile) && !errors.Is(err, errPermission) {
		return ref, err
	}
	if !IsNative(c.Files, name) {
		return ref, c.noted(name, err)
	}
	f, err := readNative(c.Files, name)
	if err != nil {
		return 0, fmt.Errorf("reading '%s': %w", name, err)
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

// noted explains err, that there is no series of a name, where a file of the name says that there is: somebody has moved or
// copied what is there for programs to see.
func (c *command) noted(name string, err error) error {
	f, e := c.Files.Open(name)
	if e != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it is only read
	head := make([]byte, len(transfer.Note))
	if _, e := io.ReadFull(f, head); e != nil || string(head) != transfer.Note {
		return err
	}
	return fmt.Errorf("opening '%s': it is a note of rondo's, and there is no series of that name: rondo rename OLD NEW moves a series, mv and cp do not", name)
}

// owned is lookup for verbs that change a series: where there is none, the native file of that name, if there is one, is made
// a series first, with every row. The file stays as it is.
func (c *command) owned(name string) (core.Ref, error) {
	ref, err := c.lookup(name)
	if _, daemon := c.Store.(tuner); err == nil || daemon || c.Files == nil || !errors.Is(err, errNoSuchFile) {
		return ref, err
	}
	if !IsNative(c.Files, name) {
		return ref, c.noted(name, err)
	}
	path, e := c.path(name)
	if e != nil {
		return 0, err
	}
	f, e := readNative(c.Files, name)
	if e != nil {
		return 0, fmt.Errorf("reading '%s': %w", name, e)
	}
	series, e := transfer.CopyOf(path, f)
	if e != nil {
		return 0, fmt.Errorf("reading '%s': %w", name, e)
	}
	made, e := c.Store.Import(c.ctx, []core.Copy{series}, false)
	if e == nil && !errors.Is(made[0].Err, core.ErrExists) { // else another has been quicker
		e = made[0].Err
	}
	if e != nil {
		return 0, named(name, e)
	}
	return c.lookup(name)
}

// The options of verbs that read a series or a native file, of those that change a series, and of those that make one.
var (
	reading = map[string][]option{
		"info": infoOptions, "fetch": fetchOptions, "dump": dumpOptions, "first": firstOptions, "last": lastOptions, "lastupdate": lastOptions,
	}
	changing = map[string][]option{
		"update": updateOptions, "updatev": updatevOptions, "resize": nil, "tune": tuneOptions, "alter": alterOptions,
	}
	making = map[string][]option{"create": createOptions, "restore": restoreOptions}
)

// operands returns what a verb of known is given beside options; nothing if it is no such verb, or its options are wrong.
func operands(args []string, known map[string][]option) []string {
	if len(args) == 0 {
		return nil
	}
	options, ok := known[args[0]]
	if !ok {
		return nil
	}
	rest, err := parse(args[1:], options, func(string, string) error { return nil })
	if err != nil {
		return nil
	}
	return rest
}

// firstName returns the first of the operands; the empty string if there is none.
func firstName(args []string, known map[string][]option) string {
	if rest := operands(args, known); len(rest) > 0 {
		return rest[0]
	}
	return ""
}

// Changes returns the name of the series that a verb changes, if it is one that makes a series of a native file of that name; the
// empty string if it is no such verb, or its options are wrong.
func Changes(args []string) string { return firstName(args, changing) }

// IsNative says whether a name is that of a regular file that begins as rrdtool's do.
func IsNative(files Readable, name string) bool {
	info, err := files.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := files.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it is only read
	var head [4]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && transfer.IsNative(head[:])
}

func readNative(files Files, name string) (*rrdfile.File, error) {
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

// Reads returns the name of what a verb that also reads native files is to read; the empty string if it is no such verb, or its
// options are wrong.
func Reads(args []string) string { return firstName(args, reading) }

// Split takes the file out of the arguments of dump and restore, for those who have the verb run elsewhere: what dump
// prints is to be written to the file out, and restore is to have the file in as its standard input. Arguments of other
// verbs, and those that are wrong, stay as they are.
func Split(args []string) (remote []string, in, out string) {
	if len(args) == 0 {
		return args, "", ""
	}
	remote = args[:1:1]
	var known []option
	switch args[0] {
	case "dump":
		known = dumpOptions
	case "restore":
		known = restoreOptions
	default:
		return args, "", ""
	}
	rest, err := parse(args[1:], known, func(name, arg string) error {
		remote = append(remote, "--"+name)
		if arg != "" || name == "header" || name == "daemon" {
			remote = append(remote, arg)
		}
		return nil
	})
	if err != nil || len(rest) != 2 {
		return args, "", ""
	}
	if args[0] == "dump" {
		return append(remote, "--", rest[0]), "", rest[1]
	}
	return append(remote, "--", "-", rest[1]), rest[0], ""
}

// Makes returns the name of the series that create or restore is to make; the empty string if it is another verb, or its options are wrong.
func Makes(args []string) string {
	rest := operands(args, making)
	switch {
	case len(rest) == 2 && args[0] == "restore":
		return rest[1]
	case len(rest) > 0 && args[0] == "create":
		return rest[0]
	}
	return ""
}

// FileNames returns the names in a line of [Pipe], or of [Frames], that a verb may take for files of whoever asks.
func FileNames(line []byte, frames bool) []string {
	if bytes.HasPrefix(line, updateWord) { // nearly every line
		return nil
	}
	args, ok := words(nil, bytes.TrimSpace(line))
	if frames {
		args, ok = escapedWords(nil, bytes.TrimRight(line, "\r\n"))
	}
	if !ok {
		return nil
	}
	_, in, out := Split(args)
	var names []string
	for _, name := range append(XportReads(args), in, out, Reads(args)) {
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}
