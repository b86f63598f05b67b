package hostile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

func TestMain(m *testing.M) { rondotest.Main(m, nil) }

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rondo.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
