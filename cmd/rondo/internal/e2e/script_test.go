package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// TestScripts runs testdata/script/*/*.txtar, a folder for each package of commands. Beside
// testscript's own there are the commands
//
//	answering PATH    wait until a server accepts at the socket PATH
//	gone PATH         wait until the file PATH is not there
//	code N COMMAND    run COMMAND, whose exit code must be N
//	eventually COMMAND PATTERN
//	                  run COMMAND until a line that it prints fits PATTERN
//
// and lines with [exec:rrdtool] ask the original the same question.
func TestScripts(t *testing.T) {
	t.Parallel()
	if rrdtooltest.Required() {
		rrdtooltest.Need(t, "rrdtool")
	}
	rondo, err := exec.LookPath("rondo") // where testscript.Main has put it
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob("testdata/script/*/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	testscript.Run(t, testscript.Params{
		Files: scripts,
		Setup: func(e *testscript.Env) error {
			e.Setenv("RONDO", rondo)
			e.Setenv("TZ", "UTC")
			e.Setenv("LC_ALL", "C")
			e.Setenv("GORACE", os.Getenv("GORACE"))
			c, err := net.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			e.Setenv("UDP", c.LocalAddr().String()) // a free port, for one server of the script
			return c.Close()
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"answering": answering,
			"gone":      gone,
			"code":      exitCodeOf,
			"eventually": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: eventually COMMAND PATTERN")
				}
				last := len(args) - 1
				fits := regexp.MustCompile("(?m)" + args[last])
				wait(ts, args[last]+" is never printed", func() bool {
					_ = ts.Exec(args[0], args[1:last]...) // code looks at exit codes
					return fits.MatchString(ts.ReadFile("stdout"))
				})
			},
		},
	})
}

func answering(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: answering PATH")
	}
	wait(ts, "no server answers at "+args[0], func() bool {
		c, err := net.Dial("unix", ts.MkAbs(args[0]))
		if err != nil {
			return false
		}
		ts.Check(c.Close())
		return true
	})
}

func exitCodeOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		code = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, not %s", code, args[0])
	}
}

func gone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone PATH")
	}
	wait(ts, args[0]+" is still there", func() bool {
		_, err := os.Lstat(ts.MkAbs(args[0]))
		return os.IsNotExist(err)
	})
}

func wait(ts *testscript.TestScript, what string, done func() bool) {
	for deadline := time.Now().Add(rondotest.Patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("%s", what)
		}
	}
}
