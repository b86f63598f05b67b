package localcluster

import (
	"errors"
	"fmt"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
)

// FindNATS finds nats-server where go install puts it, or in the PATH.
func FindNATS() (string, error) {
	bin := os.Getenv("GOBIN")
	if bin == "" {
		bin = filepath.Join(build.Default.GOPATH, "bin")
	}
	if path := filepath.Join(bin, "nats-server"); exists(path) {
		return path, nil
	}
	path, err := exec.LookPath("nats-server")
	if err != nil {
		return "", errors.New("nats-server is not installed; install it with: go install github.com/nats-io/nats-server/v2@v2.15.2")
	}
	return path, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// BuildRondo builds the program rondo of the module that the working folder is in, into the folder
// dir.
func BuildRondo(dir string) (string, error) {
	path := filepath.Join(dir, "rondo")
	out, err := exec.Command("go", "build", "-o", path, "github.com/rondo-db/rondo/cmd/rondo").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build rondo: %w\n%s", err, out)
	}
	return path, nil
}
