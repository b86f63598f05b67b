// Command powercut mounts file systems that lose what was not synced when a test cuts the power,
// for tests of rondo:
//
//	powercut [-entries journal|strict] [-seed N] MOUNTPOINT...
//
// It keeps all files in memory, prints "ready", and then takes commands from its standard input, a
// line each, and answers "ok" or "error: …". N counts the mount points from 0 on:
//
//	cut N    undo what was not synced; whoever uses the file system has been killed before
//	full N   there is no space from now on
//	room N   there is space again
//	wipe N   remove everything, as with a new disk
//
// It unmounts and ends when its input ends. It is a module of its own, so that rondo does not link
// go-fuse. It needs Linux, /dev/fuse, and to be root.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

func main() {
	entries := flag.String("entries", "journal", "when names are durable: `strict`, after a sync of their folder; journal, after any sync, as on ext4 and xfs")
	seed := flag.Uint64("seed", 1, "`number` that chance begins with")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *entries, *seed, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "ERROR:", err)
		os.Exit(1)
	}
}

// A mount is a disk that is mounted.
type mount struct {
	point  string
	disk   *disk
	server *fuse.Server
}

func run(in io.Reader, out io.Writer, entries string, seed uint64, points []string) (err error) {
	if entries != "journal" && entries != "strict" {
		return fmt.Errorf("-entries %s: want journal or strict", entries)
	}
	var all []*mount
	defer func() {
		for _, m := range all {
			if e := m.unmount(); e != nil && err == nil {
				err = e
			}
		}
	}()
	for i, p := range points {
		m := &mount{point: p, disk: newDisk(entries == "journal", rand.New(rand.NewPCG(seed, uint64(i))))}
		if err := m.mount(); err != nil {
			return err
		}
		all = append(all, m)
	}
	answer := "ready"
	for lines := bufio.NewScanner(in); ; {
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return err
		}
		if !lines.Scan() {
			return lines.Err()
		}
		answer = "ok"
		if err := carryOut(all, lines.Text()); err != nil {
			answer = "error: " + err.Error()
		}
	}
}

func carryOut(all []*mount, line string) error {
	verb, number, _ := strings.Cut(line, " ")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= len(all) {
		return fmt.Errorf("%q: want a verb and a number below %d", line, len(all))
	}
	m := all[n]
	switch verb {
	case "full", "room":
		m.disk.setFull(verb == "full")
		return nil
	case "cut", "wipe":
		// The kernel must forget what it has seen.
		if err := m.unmount(); err != nil {
			return err
		}
		if verb == "cut" {
			m.disk.cut()
		} else {
			m.disk.wipe()
		}
		return m.mount()
	}
	return fmt.Errorf("%q: want cut, full, room or wipe", verb)
}

func (m *mount) mount() error {
	never := time.Duration(0)
	server, err := fs.Mount(m.point, &node{disk: m.disk, i: m.disk.root}, &fs.Options{
		MountOptions: fuse.MountOptions{FsName: "powercut", Name: "powercut", DirectMountStrict: true, AllowOther: true, MaxWrite: 1 << 20},
		EntryTimeout: &never, AttrTimeout: &never, NegativeTimeout: &never,
		RootStableAttr: &fs.StableAttr{Ino: 1, Mode: syscall.S_IFDIR},
	})
	if err != nil {
		return fmt.Errorf("mount %s: %w", m.point, err)
	}
	m.server = server
	return nil
}

// unmountTime is how long a file system may be in use by processes that are about to end.
const unmountTime = 30 * time.Second

func (m *mount) unmount() error {
	if m.server == nil {
		return nil
	}
	var err error
	for deadline := time.Now().Add(unmountTime); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = syscall.Unmount(m.point, 0); err == nil {
			m.server.Wait()
			m.server = nil
			return nil
		}
	}
	_ = syscall.Unmount(m.point, syscall.MNT_DETACH) // nothing more can be done
	return fmt.Errorf("unmount %s: %w", m.point, err)
}
