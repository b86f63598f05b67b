package localcluster

import (
	"errors"
	"fmt"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// FindNATS finds nats-server where go install puts it, or in the PATH.
func FindNATS() (string, error) {
	bin := os.Getenv("GOBIN")
	if bin == "" {
		bin = filepath.Join(build.Default.GOPATH, "bin")
	}
	path := filepath.Join(bin, "nats-server")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	path, err := exec.LookPath("nats-server")
	if err != nil {
		return "", errors.New("nats-server is not installed; install it with: go install github.com/nats-io/nats-server/v2@v2.15.2")
	}
	return path, nil
}

// BuildRondo builds the program rondo that the module of the working folder uses, into the folder
// dir. Go keeps what it links for go run, and links what it builds each time: of all packages whose
// tests want a program only the first one links it.
func BuildRondo(dir string) (string, error) {
	path := filepath.Join(dir, "rondo")
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/rondo-db/rondo").Output()
	if err != nil {
		return "", fmt.Errorf("find the sources of rondo: %w", err)
	}
	build := exec.Command("go", "run", "-exec", "cp", "./cmd/rondo", path)
	build.Dir = strings.TrimSpace(string(root))
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build rondo: %w\n%s", err, out)
	}
	return path, nil
}
