package chaos

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/internal/localcluster"
)

// disks are file systems that lose what was not synced: contrib/powercut.
type disks struct {
	dir   string
	nodes *powercut // a file system for each machine
	// servers are the disks of the servers of NATS: the nodes' own unless apart is set, as for
	// strict, since nats-server does not sync folders.
	servers *powercut
	apart   bool
}

// A powercut is a program that holds a file system for each machine.
type powercut struct {
	cmd *exec.Cmd

	mu      sync.Mutex // guards what follows: a command and its answer
	in      io.WriteCloser
	answers *bufio.Scanner
}

// newDisks mounts a disk for each machine if RONDO_POWER says so: journal, where any sync makes names
// durable, or strict, where only the sync of a folder does. With strict the servers have disks of
// their own, of the kind journal. It returns nil if RONDO_POWER is not set.
func newDisks(t *testing.T, dir string, seed uint64) *disks {
	entries := os.Getenv("RONDO_POWER")
	if entries == "" {
		return nil
	}
	program := filepath.Join(dir, "powercut")
	if out, err := exec.Command("go", "-C", "../../contrib/powercut", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build contrib/powercut: %v\n%s", err, out)
	}
	d := &disks{dir: dir, apart: entries == "strict"}
	d.nodes = startPowercut(t, program, entries, seed, d.folder)
	if d.servers = d.nodes; d.apart {
		d.servers = startPowercut(t, program, "journal", seed+1, d.serverFolder)
	}
	return d
}

func startPowercut(t *testing.T, program, entries string, seed uint64, folder func(machine int) string) *powercut {
	args := []string{"-entries", entries, "-seed", fmt.Sprint(seed)}
	for i := range localcluster.Machines {
		if err := os.Mkdir(folder(i), 0o755); err != nil {
			t.Fatal(err)
		}
		args = append(args, folder(i))
	}
	p := &powercut{cmd: exec.Command(program, args...)}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.answers = bufio.NewScanner(out)
	if p.answers.Scan(); p.answers.Text() != "ready" {
		t.Fatalf("contrib/powercut does not mount its file systems: %v", p.cmd.Wait())
	}
	return p
}

func (d *disks) folder(machine int) string {
	return filepath.Join(d.dir, fmt.Sprintf("disk%d", machine+1))
}

// serverFolder is where the server of a machine keeps its streams.
func (d *disks) serverFolder(machine int) string {
	if !d.apart {
		return d.folder(machine)
	}
	return filepath.Join(d.dir, fmt.Sprintf("serverdisk%d", machine+1))
}

// close unmounts the disks. d may be nil.
func (d *disks) close() error {
	if d == nil {
		return nil
	}
	err := d.nodes.close()
	if d.apart {
		err = errors.Join(err, d.servers.close())
	}
	return err
}

func (p *powercut) close() error {
	_ = p.in.Close() // that is the command
	return p.cmd.Wait()
}

// disk gives the disks of a machine a command.
func (h *harness) disk(machine int, command string) {
	h.tell(h.disks.nodes, machine, command)
	if h.disks.apart {
		h.tell(h.disks.servers, machine, command)
	}
}

func (h *harness) tell(p *powercut, machine int, command string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := fmt.Fprintln(p.in, command, machine)
	if !p.answers.Scan() || p.answers.Text() != "ok" {
		h.counts.wrong(fmt.Sprintf("%s of disk %d: %s, %v", command, machine+1, p.answers.Text(), err))
	}
}

// spoil breaks a disk between two rounds, when all replicas and all servers are current: a disk is
// wiped, or a bit of a file of a server is flipped. Both are more than the servers of NATS and rondo
// promise to survive while something else is broken.
func (h *harness) spoil() {
	i := h.random.IntN(localcluster.Machines)
	if h.spoilt++; h.spoilt%2 == 1 {
		h.counts.fault(wipe)
		h.logf("wiping the disk of machine %d", i+1)
		h.c.Nodes[i].Kill()
		h.c.Servers[i].Kill()
		if h.disks != nil {
			h.disk(i, "wipe")
		} else {
			for _, dir := range []string{h.c.ServerDir(i), h.c.NodeDir(i)} {
				if err := os.RemoveAll(dir); err != nil {
					h.t.Fatal(err)
				}
			}
		}
		h.powerOn(i)
		h.settle()
	} else {
		logs := h.logs()
		h.c.Servers[i].Kill()
		where := flipBit(h.t, h.random, h.c.ServerDir(i))
		h.counts.fault(flip)
		h.logf("flipped a bit in %s", where)
		// Another replica reads its log anew, from that server or another one.
		h.c.Nodes[i].Kill()
		h.powerOn(i)
		h.settle()
		h.namedIn(logs)
	}
	h.logf("the cluster is whole again")
}

// logs returns how long the logs of all servers and nodes are.
func (h *harness) logs() map[string]int64 {
	sizes := make(map[string]int64)
	for _, p := range slices.Concat(h.c.Servers[:], h.c.Nodes[:]) {
		info, err := os.Stat(p.Log)
		if err != nil {
			h.t.Fatal(err)
		}
		sizes[p.Log] = info.Size()
	}
	return sizes
}

// damageWords are the words that servers of NATS and nodes report damage with.
var damageWords = regexp.MustCompile(`(?i)checksum|corrupt|damage|bad message|bad msg|truncat`)

// namedIn notes who has reported damage since logs were as long as sizes says.
func (h *harness) namedIn(sizes map[string]int64) {
	told := false
	for file, size := range sizes {
		b, err := os.ReadFile(file)
		if err != nil {
			h.t.Fatal(err)
		}
		for line := range strings.Lines(string(b[min(size, int64(len(b))):])) {
			if damageWords.MatchString(line) {
				h.logf("%s: %s", filepath.Base(file), strings.TrimSpace(line))
				told = true
			}
		}
	}
	if told {
		h.counts.note("a flipped bit was named")
	} else {
		h.counts.note("a flipped bit was in what nobody read again")
	}
}

// flipBit flips a bit of a message in a file of a log. One in the bucket may lose the map of
// partitions, which wants a hand.
func flipBit(t *testing.T, random *rand.Rand, dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "rondo-*", "msgs", "*.blk"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no file of a stream in %s: %v", dir, err)
	}
	for range 1000 {
		file := files[random.IntN(len(files))]
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) == 0 {
			continue
		}
		at := random.IntN(len(b))
		b[at] ^= 1 << random.IntN(8)
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("byte %d of %s", at, file)
	}
	t.Fatal("all files of streams are empty")
	return ""
}
