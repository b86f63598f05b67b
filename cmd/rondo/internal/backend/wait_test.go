package backend

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
)

// TestWaitingNamesTheHolder: a command that waited for a database was silent for ten seconds, and
// named nobody where readers held it.
func TestWaitingNamesTheHolder(t *testing.T) {
	me := fmt.Sprintf("process %d", os.Getpid())
	const reader = "a reader"
	for _, tt := range []struct {
		name string
		held core.Options
		want string
	}{
		{reader, core.Options{ReadOnly: true}, "locked by " + me + ", which reads it"},
		{"a writer", core.Options{Owner: "the other"}, "locked by the other, " + me},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "db")
			made, err := core.Open(dir, core.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := made.Close(); err != nil {
				t.Fatal(err)
			}
			holder, err := core.Open(dir, tt.held)
			if err != nil {
				t.Fatal(err)
			}
			if tt.name == reader && !tellsLocks() {
				tt.want = "locked by a process that reads it"
			}
			var lines []string
			target := Target{DB: dir, Notice: func(line string) {
				lines = append(lines, line)
				if err := holder.Close(); err != nil { // the command need not wait any longer
					t.Error(err)
				}
			}}
			db, err := target.Open(t.Context(), core.Options{}, false)
			if err != nil {
				t.Fatalf("%v, told %q", err, lines)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			if len(lines) != 1 || !strings.HasPrefix(lines[0], "waiting up to 10s: ") || !strings.Contains(lines[0], tt.want) {
				t.Errorf("told %q, want one line with %q", lines, tt.want)
			}
		})
	}
}

// tellsLocks says whether this system shows which process holds a lock. This one holds one.
func tellsLocks() bool {
	locks, err := os.ReadFile("/proc/locks")
	return err == nil && strings.Contains(string(locks), fmt.Sprintf(" %d ", os.Getpid()))
}

// TestWaitingForSilentServer: the same for a server that accepts and does not answer.
func TestWaitingForSilentServer(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, rpc.SocketName)) // which accepts nobody
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, LogFolder), 0o700); err != nil { // it looks like a database
		t.Fatal(err)
	}
	var lines []string
	target := Target{DB: dir, Notice: func(line string) {
		lines = append(lines, line)
		_ = l.Close() // whoever waits is sent away
	}}
	if db, err := target.Open(t.Context(), core.Options{ReadOnly: true}, false); err == nil {
		_ = db.Close() // it should not be there
		t.Error("a database was opened that is not there")
	}
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "waiting for the server at ") || !strings.HasSuffix(lines[0], rpc.SocketName+" to answer") {
		t.Errorf("told %q", lines)
	}
}
