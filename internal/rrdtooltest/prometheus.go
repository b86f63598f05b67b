package rrdtooltest

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// A Prometheus is the installed Prometheus, running.
type Prometheus struct {
	URL string // http://HOST:PORT

	tb    testing.TB
	cmd   *exec.Cmd
	log   string // the file with its log
	ended chan struct{}
}

// programTime is how long a large program may take until it answers or has ended.
const programTime = 2 * time.Minute

// listeningOn finds the address in Prometheus' log.
var listeningOn = regexp.MustCompile(`msg="Listening on" .*\baddress=(\S+)`)

// RunPrometheus runs the installed Prometheus with a configuration, as the file has it, until the
// test ends. The data are below the folder dir. It has answered that it is ready.
func RunPrometheus(tb testing.TB, config, dir string) *Prometheus {
	tb.Helper()
	path := Peer(tb, "prometheus")
	own := tb.TempDir()
	file := filepath.Join(own, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		tb.Fatal(err)
	}
	p := &Prometheus{tb: tb, log: filepath.Join(own, "log"), ended: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		tb.Fatal(err)
	}
	p.cmd = exec.Command(path, "--config.file="+file, "--storage.tsdb.path="+dir, "--web.listen-address=127.0.0.1:0", "--log.format=logfmt")
	p.cmd.Stdout, p.cmd.Stderr = log, log
	err = p.cmd.Start()
	_ = log.Close() // the program has its own
	if err != nil {
		tb.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // Stop looks at how it ended
	}()
	tb.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
		if tb.Failed() {
			tb.Logf("Prometheus:\n%s", p.text())
		}
	})
	for deadline := time.Now().Add(programTime); !p.ready(); time.Sleep(10 * time.Millisecond) {
		if p.Ended() || time.Now().After(deadline) {
			tb.Fatal("Prometheus does not get ready")
		}
	}
	return p
}

// ready looks in the log for the address, and asks there whether p is ready.
func (p *Prometheus) ready() bool {
	if p.URL == "" {
		m := listeningOn.FindSubmatch(p.text())
		if m == nil {
			return false
		}
		p.URL = "http://" + string(m[1])
	}
	r, err := http.Get(p.URL + "/-/ready")
	return err == nil && r.Body.Close() == nil && r.StatusCode == http.StatusOK
}

// text returns the log of p so far.
func (p *Prometheus) text() []byte {
	text, err := os.ReadFile(p.log)
	if err != nil {
		p.tb.Error(err)
	}
	return text
}

// Ended reports whether the program has ended.
func (p *Prometheus) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Stop ends the program as a system does that shuts down: it sends before what waits for remote
// write.
func (p *Prometheus) Stop() {
	p.tb.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.tb.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(programTime):
		p.tb.Fatal("Prometheus does not end")
	}
	if p.cmd.ProcessState.ExitCode() != 0 {
		p.tb.Fatalf("Prometheus: %v", p.cmd.ProcessState)
	}
}
