package graphitebench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// A subject is a program that is measured.
type subject interface {
	// command returns the command that starts the program, which listens at addr.
	command(ctx context.Context, addr string) (*exec.Cmd, error)
	// stored reports whether all points of the rounds up to a round are stored.
	stored(l *load, round int) (bool, error)
}

// schemas is the storage-schemas.conf of both.
const schemas = "[all]\npattern = .\nretentions = 10s:1h\n"

// freeAddr returns an address of loopback that nobody listens at.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// rondo is rondo serve, with a database that is durable when it is acknowledged.
type rondo struct{ program, dir, http string }

func (r *rondo) command(ctx context.Context, addr string) (*exec.Cmd, error) {
	file := filepath.Join(r.dir, "schemas.conf")
	if err := os.WriteFile(file, []byte(schemas), 0o600); err != nil {
		return nil, err
	}
	var err error
	if r.http, err = freeAddr(); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, r.program, "serve", "--db", filepath.Join(r.dir, "db"), "--http", r.http, "--graphite", addr,
		"--graphite-schemas", file, "--collectd=", "--gmetric=", "--rrdcached=", "--sender-burst=-1", "--log-level=warn")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	return cmd, nil
}

// stored asks the server's counters.
func (r *rondo) stored(l *load, round int) (bool, error) {
	resp, err := http.Get("http://" + r.http + "/metrics")
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	stored, dropped := 0.0, 0.0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		key, text, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.ParseFloat(text, 64) // else it is another line
		switch {
		case key == "rondo_samples_accepted_total":
			stored = n
		case strings.HasPrefix(key, `rondo_receiver_dropped_total{`) && strings.Contains(key, `"graphite"`):
			dropped += n
		}
	}
	if dropped > 0 {
		return false, fmt.Errorf("rondo dropped %v points", dropped)
	}
	return stored >= float64(l.names*(round+1)), nil
}

// carbon is go-carbon, with files of whisper.
type carbon struct {
	program, dir string
	next         int // name whose file is looked at next
	round        int // that it was looked at for
}

const carbonConf = `[common]
user = ""
metric-interval = "1h"
max-cpu = %[3]d
[whisper]
data-dir = "%[1]s/whisper"
schemas-file = "%[1]s/schemas.conf"
workers = %[3]d
max-updates-per-second = 0
flock = false
enabled = true
[cache]
max-size = 0
[tcp]
listen = "%[2]s"
enabled = true
[udp]
enabled = false
[pickle]
enabled = false
[carbonlink]
enabled = false
[grpc]
enabled = false
[tags]
enabled = false
[carbonserver]
enabled = false
[dump]
enabled = false
[pprof]
enabled = false
[[logging]]
logger = ""
file = "stderr"
level = "error"
`

func (c *carbon) command(ctx context.Context, addr string) (*exec.Cmd, error) {
	for name, text := range map[string]string{
		"schemas.conf": schemas, "carbon.conf": fmt.Sprintf(carbonConf, c.dir, addr, 2),
	} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(filepath.Join(c.dir, "whisper"), 0o700); err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, c.program, "-config", filepath.Join(c.dir, "carbon.conf")), nil
}

// stored looks whether the point of a round is in the file of each name. It goes on with the name
// at which it stopped.
func (c *carbon) stored(l *load, round int) (bool, error) {
	if c.round != round {
		c.round, c.next = round, 0
	}
	for ; c.next < l.names; c.next++ {
		file := filepath.Join(c.dir, "whisper", strings.ReplaceAll(name(c.next), ".", "/")+".wsp")
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if !holds(text, uint32(l.first+int64(round)*step)) {
			return false, nil
		}
	}
	return true, nil
}

// holds reports whether the one archive of a file of whisper has a point at a second.
func holds(file []byte, second uint32) bool {
	const header, point = 28, 12
	if len(file) < header {
		return false
	}
	var at [4]byte
	binary.BigEndian.PutUint32(at[:], second)
	for p := header; p+point <= len(file); p += point {
		if bytes.Equal(file[p:p+4], at[:]) {
			return true
		}
	}
	return false
}
