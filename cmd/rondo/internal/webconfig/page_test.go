package webconfig

import (
	"os"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig/webconfigtest"
)

// TestFilesOfThePage: every file that docs/security.md shows is valid.
func TestFilesOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	a := webconfigtest.New(t, "rondo tests")
	a.Leaf(t, "rondo", webconfigtest.Leaf{})
	ca, err := os.ReadFile(a.Dir + "/ca.crt")
	if err != nil {
		t.Fatal(err)
	}
	a.Write(t, "clients-ca.crt", string(ca))
	blocks := strings.Split(string(page), "```yaml\n")[1:]
	if len(blocks) < 2 {
		t.Errorf("%d files found", len(blocks))
	}
	for _, b := range blocks {
		text, _, _ := strings.Cut(b, "```")
		if err := Check(a.Write(t, "web.yml", text)); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}
