package chaos

import (
	"bufio"
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
	dir string
	cmd *exec.Cmd

	mu      sync.Mutex // guards what follows: a command and its answer
	in      io.WriteCloser
	answers *bufio.Scanner
}

// newDisks mounts a disk for each machine if RONDO_POWER says so: journal, where any sync makes names
// durable, or strict, where only the sync of a folder does. It returns nil otherwise.
func newDisks(t *testing.T, dir string, seed uint64) *disks {
	entries := os.Getenv("RONDO_POWER")
	if entries == "" {
		return nil
	}
	program := filepath.Join(dir, "powercut")
	if out, err := exec.Command("go", "-C", "../../contrib/powercut", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build contrib/powercut: %v\n%s", err, out)
	}
	d := &disks{dir: dir}
	args := []string{"-entries", entries, "-seed", fmt.Sprint(seed)}
	for i := range localcluster.Machines {
		if err := os.Mkdir(d.folder(i), 0o755); err != nil {
			t.Fatal(err)
		}
		args = append(args, d.folder(i))
	}
	d.cmd = exec.Command(program, args...)
	d.cmd.Stderr = os.Stderr
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.answers = bufio.NewScanner(out)
	if d.answers.Scan(); d.answers.Text() != "ready" {
		t.Fatalf("contrib/powercut does not mount its file systems: %v", d.cmd.Wait())
	}
	return d
}

func (d *disks) folder(machine int) string {
	return filepath.Join(d.dir, fmt.Sprintf("disk%d", machine+1))
}

// close unmounts the disks. d may be nil.
func (d *disks) close() error {
	if d == nil {
		return nil
	}
	_ = d.in.Close() // that is the command
	return d.cmd.Wait()
}

// disk tells the disk of a machine what to do.
func (h *harness) disk(machine int, command string) {
	d := h.disks
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := fmt.Fprintln(d.in, command, machine)
	if !d.answers.Scan() || d.answers.Text() != "ok" {
		h.counts.wrong(fmt.Sprintf("%s of disk %d: %s, %v", command, machine+1, d.answers.Text(), err))
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

// damageWords are those that servers of NATS and nodes tell of damage with.
var damageWords = regexp.MustCompile(`(?i)checksum|corrupt|damage|bad message|bad msg|truncat`)

// namedIn notes who has told of damage since logs were as long as sizes says.
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

// flipBit flips a bit of a message in a file of a stream.
func flipBit(t *testing.T, random *rand.Rand, dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*", "msgs", "*.blk"))
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
