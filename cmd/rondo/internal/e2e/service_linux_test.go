package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/serve"
	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// systemdFolder holds the unit and the configuration that goes with it.
const systemdFolder = "../../../../contrib/systemd"

// TestServiceConfiguration checks the configuration of the unit as a server would read it.
func TestServiceConfiguration(t *testing.T) {
	p := &cli.Process{LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now}
	c := &cli.Factory{Process: p, TargetFlags: cli.TargetFlags{ConfigFile: filepath.Join(systemdFolder, "rondo.yaml")}}
	s, cmd := serve.NewSettings(c)
	cmd.Flags().StringVar(&c.DB, "db", "", "") // the root's
	if _, _, err := s.Apply(); err != nil {
		t.Error(err)
	}
	if got := s.Target(); got.DB != "/var/lib/rondo" || !got.Named || s.Config.Socket.Group != "rondo" {
		t.Errorf("the database is %+v, the socket's group %q", got, s.Config.Socket.Group)
	}
}

// TestSocketGroup: a second user had no way to a server, and no message said what to do.
func TestSocketGroup(t *testing.T) {
	if os.Getuid() != 0 {
		rrdtooltest.Lacks(t, "only root can be somebody else")
	}
	const nobody, group = 65534, 65533
	dir := t.TempDir()
	db := filepath.Join(dir, "db")
	for d := dir; strings.HasPrefix(d, os.TempDir()) && d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(db, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(db, 0, group); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("rondo")
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "rondo") // the tests' own is where nobody else can go
	if err := copyProgram(mine, program); err != nil {
		t.Fatal(err)
	}
	as := func(gid uint32) (string, error) {
		cmd := exec.Command(mine, "--db", db, "create", "a", "DS:v:GAUGE:600:U:U", "10m for 1d")
		cmd.Dir = "/"
		cmd.Env = []string{"HOME=/nonexistent"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: gid}}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := as(nobody); err == nil || !strings.Contains(out, "permission denied") {
		t.Errorf("somebody else without a server: %v, %s", err, out)
	}
	rondotest.Serve(t, db, "--socket-group", fmt.Sprint(group))
	if out, err := as(nobody); err == nil || !strings.Contains(out, "another user's") || !strings.Contains(out, "--socket-group") {
		t.Errorf("somebody who is not in the group: %v, %s", err, out)
	}
	if out, err := as(group); err != nil {
		t.Errorf("a member of the group: %v, %s", err, out)
	}
}

func copyProgram(to, from string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}

// TestServiceUnit asks systemd whether it understands the unit.
func TestServiceUnit(t *testing.T) {
	analyze := rrdtooltest.Peer(t, "systemd-analyze")
	unit := filepath.Join(t.TempDir(), "rondo.service")
	text, err := os.ReadFile(filepath.Join(systemdFolder, "rondo.service"))
	if err != nil {
		t.Fatal(err)
	}
	// The program need not be installed, nor its user be there.
	here := strings.NewReplacer("/usr/bin/rondo", "/bin/true", "User=rondo", "User=root", "Group=rondo", "Group=root").Replace(string(text))
	if err := os.WriteFile(unit, []byte(here), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput()
	if strings.Contains(string(out), "rondo.service") || err != nil && len(out) == 0 {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}

// TestServeSaysWhereThePageIs: on a terminal the start ends with what to open in a browser.
func TestServeSaysWhereThePageIs(t *testing.T) {
	t.Parallel()
	p := onTerminal(t, 160, 40, nil, "--db", t.TempDir(), "serve", "--http", "127.0.0.1:0", "--collectd", "", "--gmetric", "")
	p.has("open http://127.0.0.1:")
	p.press("\x03")
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, p.text())
	}
}
