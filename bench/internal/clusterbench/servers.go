package clusterbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// startTime is how long something may take to start.
const startTime = 5 * time.Minute

// tick is the time between two looks at something that is waited for.
const tick = 20 * time.Millisecond

// wait calls ready until it returns true or an error, for startTime at most.
func wait(ctx context.Context, what string, ready func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		ok, err := ready()
		if ok || err != nil {
			return err
		}
		select {
		case <-time.After(tick):
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		}
	}
}

// servers are three nats-servers that keep the logs and sync always.
type servers struct {
	processes []*process
	urls      []string
	monitors  []string
}

// startServers starts three nats-servers in dir.
func startServers(ctx context.Context, program, dir string) (*servers, error) {
	s := &servers{}
	var listens, routes []string
	for range 3 {
		a, err := freeAddress()
		if err != nil {
			return nil, err
		}
		listens = append(listens, a)
		routes = append(routes, fmt.Sprintf("%q", "nats://"+a))
	}
	for i, listen := range listens {
		name := fmt.Sprintf("nats-%d", i+1)
		own := filepath.Join(dir, name)
		if err := os.MkdirAll(own, 0o755); err != nil {
			return nil, errors.Join(err, s.stop())
		}
		config := fmt.Sprintf("server_name: %s\nlisten: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:-1\"\nports_file_dir: %q\n"+
			"jetstream { store_dir: %q, sync_interval: always }\ncluster { name: bench, listen: %q, routes: [%s] }\n",
			name, own, own, listen, strings.Join(routes, ", "))
		file := filepath.Join(own, "nats.conf")
		err := os.WriteFile(file, []byte(config), 0o644)
		if err == nil {
			var p *process
			if p, err = start(dir, name, program, "-c", file); err == nil {
				s.processes = append(s.processes, p)
			}
		}
		if err != nil {
			return nil, errors.Join(err, s.stop())
		}
	}
	for i, p := range s.processes {
		if err := wait(ctx, p.name, func() (bool, error) { return s.ports(i) }); err != nil {
			return nil, errors.Join(err, s.stop())
		}
	}
	return s, nil
}

// ports reads the ports of server i, and reports whether the server has announced them.
func (s *servers) ports(i int) (bool, error) {
	p := s.processes[i]
	if err := p.died(); err != nil {
		return false, err
	}
	dir := strings.TrimSuffix(p.log, ".log")
	b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("nats-server_%d.ports", p.cmd.Process.Pid)))
	var found struct{ NATS, Monitoring []string }
	if err != nil || json.Unmarshal(b, &found) != nil || len(found.NATS) == 0 || len(found.Monitoring) == 0 {
		return false, nil // it is being written
	}
	s.urls, s.monitors = append(s.urls, found.NATS[0]), append(s.monitors, found.Monitoring[0])
	return true, nil
}

// cpu returns the processor time that the servers have used.
func (s *servers) cpu() (all time.Duration) {
	for _, p := range s.processes {
		all += p.cpu()
	}
	return all
}

// stop kills the servers. Nothing of them is needed any more.
func (s *servers) stop() error {
	for _, p := range s.processes {
		p.kill()
	}
	return nil
}
