package e2e

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// TestKilledServerLosesNothing writes by RPC and by command line, kills the server, and asks again:
// embedded, and a new server.
func TestKilledServerLosesNothing(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	d := rondotest.Serve(t, db)
	const epoch = 1_700_000_000
	d.Call(t, "Create", fmt.Sprintf(`{"path":"by/rpc","start":"%d","labels":[{"name":"host","value":"web1"}],
		"definition":{"step":10,"ds":["DS:v:GAUGE:20:U:U"],"rra":["RRA:AVERAGE:0.5:1:1000","RRA:MAX:0.5:6:100"]}}`, epoch))
	rondotest.Run(t, db, "create", "by/cli", "-s", "10", "-b", fmt.Sprint(epoch), "DS:v:COUNTER:20:U:U", "RRA:AVERAGE:0.5:1:1000")
	for i := 1; i <= 50; i++ {
		at := epoch + 10*i
		got := d.Call(t, "Write", fmt.Sprintf(`{"samples":[{"path":"by/rpc","update":"%d:%d.5"}]}`, at, i*i))
		if got != `{"accepted":"1"}` {
			t.Fatalf("write %d: %s", i, got)
		}
		if i%10 == 0 {
			rondotest.Run(t, db, "update", "by/cli", fmt.Sprintf("%d:%d", at, 100*i*i))
			if i == 20 {
				d.Call(t, "Checkpoint", "{}")
			}
		}
	}
	questions := [][]string{
		{"fetch", "by/rpc", "AVERAGE", "-s", fmt.Sprint(epoch), "-e", fmt.Sprint(epoch + 520)},
		{"fetch", "by/rpc", "MAX", "-s", fmt.Sprint(epoch), "-e", fmt.Sprint(epoch + 520)},
		{"fetch", "by/cli", "AVERAGE", "-s", fmt.Sprint(epoch), "-e", fmt.Sprint(epoch + 520)},
		{"info", "by/cli"},
	}
	ask := func() []string {
		answers := make([]string, len(questions))
		for i, q := range questions {
			answers[i] = rondotest.Run(t, db, q...)
		}
		return answers
	}
	fetch := fmt.Sprintf(`{"path":"by/rpc","start":"%d","end":"%d"}`, epoch, epoch+520)
	want, wantRPC := ask(), d.Call(t, "Fetch", fetch)
	if !strings.Contains(want[0], fmt.Sprintf("%d: 2.5005000000e+03\n", epoch+500)) {
		t.Errorf("the last row is not there:\n%s", want[0])
	}
	same := func(when string) {
		t.Helper()
		for i, got := range ask() {
			if got != want[i] {
				t.Errorf("%s: rondo %v prints\n%swant\n%s", when, questions[i], got, want[i])
			}
		}
	}
	d.Kill(t)
	same("after a kill, without server")
	d = rondotest.Serve(t, db)
	same("with a new server")
	if got := d.Call(t, "Fetch", fetch); got != wantRPC {
		t.Errorf("fetch by RPC:\n%s\nwant\n%s", got, wantRPC)
	}
	d.Stop(t)
	same("after SIGTERM")
	if out := rondotest.Run(t, db, "check"); out != "no problem found\n" {
		t.Errorf("check: %s", out)
	}
}

// TestCommandsTakeTurns: while the lock is held and nobody answers, a command waits; here for
// another command, which lets go.
func TestCommandsTakeTurns(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	rondotest.Run(t, db, "create", "a", "-s", "10", "-b", "1000000000", "DS:v:GAUGE:20:U:U", "RRA:LAST:0.5:1:50")
	const n = 8
	errs := make(chan error, n)
	for range n {
		go func() {
			cmd := exec.Command("rondo", "--db", db, "update", "a", "--", "N:1")
			if out, err := cmd.CombinedOutput(); err != nil && !bytes.Contains(out, []byte("minimum one second step")) {
				errs <- fmt.Errorf("%w: %s", err, out)
				return
			}
			errs <- nil
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestServerStartsFast: an empty server takes little of the processor until it has ended. Wall time
// would measure the machine.
func TestServerStartsFast(t *testing.T) {
	d := rondotest.Serve(t, filepath.Join(t.TempDir(), "db"))
	d.Stop(t)
	if took := d.Cmd.ProcessState.UserTime() + d.Cmd.ProcessState.SystemTime(); took > 2*time.Second {
		t.Errorf("it took %v of the processor", took)
	}
}
