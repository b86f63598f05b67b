package backend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// TestOnlyNamedFiles: a server gets at the files that commands have named, however the input was
// cut, and at no other.
func TestOnlyNamedFiles(t *testing.T) {
	dir := t.TempDir()
	secret, named, spaced := filepath.Join(dir, "secret"), filepath.Join(dir, "named"), filepath.Join(dir, "with a blank")
	for _, name := range []string{secret, named, spaced} {
		if err := os.WriteFile(name, []byte("held"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	input := "update " + secret + " N:1\nrestore -f " + named + " a.rrd\r\ninfo '" + spaced + "'\ndump a.rrd " + named + ".out\nlast " + strings.Repeat("x", 2*maxNaming) + "\n"
	for _, piece := range []int{1, 7, len(input)} {
		c := &callerFiles{}
		for rest := []byte(input); len(rest) > 0; rest = rest[min(piece, len(rest)):] {
			c.scan(rest[:min(piece, len(rest))])
		}
		ask := func(op rondov1.FileRequest_Op, name string) *rondov1.FileAnswer {
			return c.answer(&rondov1.FileRequest{Op: op, Name: name, Size: 100, Data: []byte("told")})
		}
		for _, op := range []rondov1.FileRequest_Op{rondov1.FileRequest_STAT, rondov1.FileRequest_OPEN, rondov1.FileRequest_CREATE} {
			if a := ask(op, secret); a.GetError() == "" {
				t.Errorf("pieces of %d: %v of a file that no command has named is done", piece, op)
			}
		}
		if a := ask(rondov1.FileRequest_READ, named); a.GetError() == "" {
			t.Errorf("pieces of %d: a file that is not open is read: %q", piece, a.GetData())
		}
		for _, name := range []string{named, spaced} {
			if a := ask(rondov1.FileRequest_STAT, name); a.GetError() != "" || !a.GetRegular() {
				t.Errorf("pieces of %d: stat of %s: %v", piece, name, a)
			}
			if a := ask(rondov1.FileRequest_OPEN, name); a.GetError() != "" {
				t.Errorf("pieces of %d: open of %s: %v", piece, name, a)
			}
			if a := ask(rondov1.FileRequest_READ, ""); string(a.GetData()) != "held" {
				t.Errorf("pieces of %d: read %q", piece, a.GetData())
			}
			if a := ask(rondov1.FileRequest_READ, ""); a.GetError() != "" || len(a.GetData()) > 0 {
				t.Errorf("pieces of %d: at the end %v", piece, a)
			}
		}
		if a := ask(rondov1.FileRequest_CREATE, filepath.Join(dir, "none", "x")); a.GetError() == "" {
			t.Error("a file is made that was not named")
		}
		for _, op := range []rondov1.FileRequest_Op{rondov1.FileRequest_CREATE, rondov1.FileRequest_WRITE, rondov1.FileRequest_CLOSE} {
			if a := ask(op, named+".out"); a.GetError() != "" {
				t.Errorf("pieces of %d: %v: %v", piece, op, a)
			}
		}
		if got, err := os.ReadFile(named + ".out"); string(got) != "told" || err != nil {
			t.Errorf("pieces of %d: wrote %q, %v", piece, got, err)
		}
		c.close()
	}
}
