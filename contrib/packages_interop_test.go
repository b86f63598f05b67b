//go:build !race

package contrib_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// TestPackages builds the packages twice. The same commit gives the same bytes, and each package is
// right.
func TestPackages(t *testing.T) {
	needNFPM(t)
	all, again := packages(t), packages(t)
	if len(all) != 4 || len(again) != 4 {
		t.Fatalf("built %q, then %q", all, again)
	}
	for i := range all {
		a, err := os.ReadFile(all[i])
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(again[i])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs from %s", all[i], again[i])
		}
	}
	t.Run("deb", func(t *testing.T) { installsDeb(t, all[0]) })
	t.Run("rpm", func(t *testing.T) { installsRPM(t, all[1]) })
	t.Run("tar", func(t *testing.T) { unpacksTar(t, all[2]) })
	t.Run("image", func(t *testing.T) { runsImage(t, all[3]) })
}

// packages builds the four packages into a folder of the test and returns their names.
func packages(t *testing.T) []string {
	t.Helper()
	dist := t.TempDir()
	cmd := exec.Command("packages/build", "deb", "rpm", "tar", "image")
	cmd.Env = append(os.Environ(), "RONDO_DIST="+dist, "RONDO_VERSION=0.1.0", "SOURCE_DATE_EPOCH=1700000000", "RONDO_BUILDVCS=false")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, errs.String())
	}
	return strings.Fields(string(out))
}

// needNFPM ends the test as rrdtooltest.Lacks does if nfpm, which writes packages, is missing. Go
// fetches it, as contrib/packages/build does, only if all peers must be there.
func needNFPM(t *testing.T) {
	t.Helper()
	script, err := os.ReadFile("packages/build")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^nfpm=(\S+)$`).FindSubmatch(script)
	if m == nil {
		t.Fatal("packages/build does not say which nfpm it runs")
	}
	cmd := exec.Command("go", "run", string(m[1]), "--version")
	if !rrdtooltest.Required() {
		cmd.Env = append(os.Environ(), "GOPROXY=off")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		rrdtooltest.Lacks(t, "nfpm is missing: ", err, "\n", string(out))
	}
}

// installed are files that each package must hold.
var installed = []string{
	"/usr/bin/rondo", "/etc/rondo/rondo.yaml", "/usr/lib/systemd/system/rondo.service", "/usr/lib/sysctl.d/60-rondo.conf", "/usr/lib/sysusers.d/rondo.conf", "/usr/lib/tmpfiles.d/rondo.conf",
	"/usr/share/man/man1/rondo.1.gz", "/usr/share/man/man1/rondo-serve.1.gz", "/usr/share/bash-completion/completions/rondo",
	"/usr/share/rondo/perl/RRDs.pm", "/usr/share/doc/rondo/copyright",
}

// installsDeb installs the package in an empty root, starts what it installed as the user
// that it made, upgrades it and removes it. Data and a changed configuration stay.
func installsDeb(t *testing.T, deb string) {
	t.Helper()
	for _, p := range []string{"dpkg", "systemd-sysusers", "systemd-tmpfiles", "systemd-analyze"} {
		rrdtooltest.Peer(t, p)
	}
	if os.Getuid() != 0 {
		rrdtooltest.Lacks(t, "only root can install packages")
	}
	root := cleanRoot(t)
	dpkg := func(says string, args ...string) {
		t.Helper()
		cmd := exec.Command("dpkg", append([]string{"--root=" + root, "--force-script-chrootless"}, args...)...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte(says)) {
			t.Fatalf("dpkg %s: %v\n%s\nwant %s", args, err, out, says)
		}
	}
	dpkg("open http://127.0.0.1:9180/", "--install", deb)
	for _, name := range installed {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	uid, gid := owner(t, filepath.Join(root, "var/lib/rondo"))
	if uid == 0 || gid == 0 {
		t.Errorf("the database's folder belongs to %d:%d", uid, gid)
	}
	checkUnit(t, root)
	startInRoot(t, root, uid, gid, "--config", "/etc/rondo/rondo.yaml")

	config := filepath.Join(root, "etc/rondo/rondo.yaml")
	mine := []byte("db: /var/lib/rondo # mine\n")
	if err := os.WriteFile(config, mine, 0o644); err != nil {
		t.Fatal(err)
	}
	dpkg("", "--force-confold", "--install", deb)
	dpkg("", "--remove", "rondo")
	if got, err := os.ReadFile(config); err != nil || !bytes.Equal(got, mine) {
		t.Errorf("the configuration is %q (%v)", got, err)
	}
	dpkg("data kept in /var/lib/rondo", "--purge", "rondo")
	if _, err := os.Stat(config); err == nil {
		t.Error("purge leaves the configuration")
	}
	if _, err := os.Stat(filepath.Join(root, "usr/bin/rondo")); err == nil {
		t.Error("the program is still there")
	}
	if _, err := os.Stat(filepath.Join(root, "var/lib/rondo/rondo.bolt")); err != nil {
		t.Error("the database went with the package:", err)
	}
}

// installsRPM installs the package in an empty root, without its scripts: they would need a shell there.
func installsRPM(t *testing.T, rpm string) {
	t.Helper()
	rrdtooltest.Peer(t, "rpm")
	root := t.TempDir()
	out, err := exec.Command("rpm", "--root", root, "--nodeps", "--noscripts", "--ignorearch", "-i", rpm).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range installed {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	out, err = exec.Command("rpm", "-qp", "--configfiles", "--scripts", rpm).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("/etc/rondo/rondo.yaml")) || !bytes.Contains(out, []byte("systemd-sysusers")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// unpacksTar: the archive holds one folder, from which the program runs.
func unpacksTar(t *testing.T, archive string) {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-C", dir, "-xzf", archive).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range installed {
		if _, err := os.Stat(filepath.Join(dir, "rondo-0.1.0", name)); err != nil {
			t.Error(err)
		}
	}
	out, err := exec.Command(filepath.Join(dir, "rondo-0.1.0/usr/bin/rondo"), "version").Output()
	if err != nil || !bytes.HasPrefix(out, []byte("rondo ")) {
		t.Errorf("%v: %s", err, out)
	}
}

// runsImage: every file of the image has the digest and size by which others name it, and the program
// runs in what the layer unpacks to.
func runsImage(t *testing.T, image string) {
	t.Helper()
	dir, root := t.TempDir(), t.TempDir()
	if out, err := exec.Command("tar", "-C", dir, "-xf", image).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	type blob struct {
		Digest string
		Size   int64
	}
	var index struct{ Manifests []blob }
	var manifest struct {
		Config blob
		Layers []blob
	}
	var config struct {
		Config struct{ User, StopSignal string }
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	read := func(b blob, to any) string {
		t.Helper()
		name := filepath.Join(dir, "blobs", strings.Replace(b.Digest, ":", "/", 1))
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(text)); sum != b.Digest || int64(len(text)) != b.Size {
			t.Errorf("%s of %d bytes is named as %s of %d", sum, len(text), b.Digest, b.Size)
		}
		if to != nil {
			if err := json.Unmarshal(text, to); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
		}
		return name
	}
	text, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err := errors.Join(err, json.Unmarshal(text, &index)); err != nil || len(index.Manifests) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	read(index.Manifests[0], &manifest)
	read(manifest.Config, &config)
	if config.Config.User != "65532:65532" || config.Config.StopSignal != "SIGTERM" || len(manifest.Layers) != 1 || len(config.RootFS.DiffIDs) != 1 {
		t.Fatalf("%+v %+v", manifest, config)
	}
	layer := read(manifest.Layers[0], nil)
	sum, err := exec.Command("sh", "-c", `gzip -dc "$0" | sha256sum`, layer).Output()
	if err != nil || "sha256:"+strings.Fields(string(sum))[0] != config.RootFS.DiffIDs[0] {
		t.Errorf("%v: the layer is %s, and the configuration says %s", err, sum, config.RootFS.DiffIDs[0])
	}
	if os.Getuid() != 0 {
		rrdtooltest.Lacks(t, "only root can enter an image")
	}
	if out, err := exec.Command("tar", "-C", root, "--same-owner", "-xzf", layer).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if uid, gid := owner(t, filepath.Join(root, "var/lib/rondo")); uid != 65532 || gid != 65532 {
		t.Errorf("the database's folder belongs to %d:%d", uid, gid)
	}
	for d := root; d != os.TempDir() && d != "/"; d = filepath.Dir(d) { // the image's user must get there
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	startInRoot(t, root, 65532, 65532, "--db", "/var/lib/rondo")
}

// cleanRoot returns an empty root with what dpkg itself needs.
func cleanRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for d := root; d != os.TempDir() && d != "/"; d = filepath.Dir(d) { // the service's user must get there
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "etc", "tmp", "dev"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

func owner(t *testing.T, name string) (uid, gid uint32) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatalf("%T", info.Sys())
	}
	return s.Uid, s.Gid
}

// checkUnit lets systemd judge the unit: whether it is right, and whether it is shut off.
func checkUnit(t *testing.T, root string) {
	t.Helper()
	unit := filepath.Join(root, "usr/lib/systemd/system/rondo.service")
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=20", unit).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
	text, err := os.ReadFile(unit)
	if err != nil || bytes.Contains(text, []byte("notify-reload")) {
		t.Errorf("systemd 252 of Debian 12 knows no notify-reload (%v)", err)
	}
}

// startInRoot starts a server in a root as a user, as the unit and the image do.
// It asks the service for its health and ends it.
func startInRoot(t *testing.T, root string, uid, gid uint32, flags ...string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that was free a moment ago
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/rondo", append([]string{"serve", "--http", addr, "--collectd", "", "--gmetric", ""}, flags...)...)
	cmd.Path, cmd.Err = "/usr/bin/rondo", nil // within the root
	cmd.Dir, cmd.Env = "/", []string{"HOME=/var/lib/rondo"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for ctx.Err() == nil {
		if ready(addr) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil || ctx.Err() != nil {
		t.Errorf("the service ended with %v\n%s", err, log.String())
	}
}

// ready reports whether the server at addr says that it is ready.
func ready(addr string) bool {
	r, err := http.Get("http://" + addr + "/-/ready")
	if err != nil {
		return false
	}
	return r.Body.Close() == nil && r.StatusCode == http.StatusOK
}
