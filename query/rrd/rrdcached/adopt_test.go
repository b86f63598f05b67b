package rrdcached_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
)

// writeNative writes a file as rrdtool would have left it after one update of step 10.
func writeNative(t *testing.T, name string, last int64, value float64) {
	t.Helper()
	d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:LAST:0.5:1:5"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := rra.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	state := m.NewState(rra.Seconds(last - 10))
	if _, err := m.Step(&state, rra.Seconds(last), []rra.Value{rra.Float(value)}, nil, nil); err != nil {
		t.Fatal(err)
	}
	f, err := rrdfile.New(m, &state, [][]float64{{1, 2, 3, 4, value}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := f.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAdopt: files of rrdtool below the base are series when clients name them, with what they
// hold, by whatever request comes first.
func TestAdopt(t *testing.T) {
	s := serve(t, rrdcached.Options{Adopt: true}, 0)
	file := func(name string) string { return filepath.Join(s.base, name) }
	const last = 1_000_000_000
	for i := range 40 {
		writeNative(t, file(fmt.Sprintf("web/%d.rrd", i)), last, float64(100+i))
	}
	p := dial(t, s.addr)
	p.expect("LAST web/0.rrd\n", "0 1000000000\n")
	p.expect("UPDATE web/1 1000000010:7\nLAST web/1.rrd\n", "0 errors, enqueued 1 value(s).\n0 1000000010\n")
	p.expect("UPDATE "+s.base+"/web/2.rrd 1000000000:7\n",
		"-1 illegal attempt to update using time 1000000000.000000 when last update time is 1000000000.000000 (minimum one second step)\n")
	p.expect("FETCH web/3.rrd LAST 999999985 999999999\n", "8 Success\nFlushVersion: 1\nStart: 999999980\nEnd: 1000000000\nStep: 10\nDSCount: 1\nDSName: v\n"+
		" 999999990: 4.00000000000000000e+00\n1000000000: 1.03000000000000000e+02\n")
	p.expect("TUNE web/4.rrd -h v:99\n", "0 RRD tuned OK\n")
	p.expect("CREATE web/5.rrd -O DS:v:GAUGE:20:U:U RRA:LAST:0.5:1:5\n", "-1 RRD Error: creating '"+file("web/5.rrd")+"': File exists\n")

	// Many at once: they are made before the answer, and no sample is lost.
	var batch strings.Builder
	for i := 10; i < 40; i++ {
		fmt.Fprintf(&batch, "UPDATE web/%d.rrd 1000000010:1 1000000020:2\n", i)
	}
	p.expect("BATCH\n"+batch.String()+"UPDATE web/none.rrd 1000000010:1\n.\n",
		"0 Go ahead.  End with dot '.' on its own line.\n1 errors\n31 No such file: "+file("web/none.rrd")+"\n")
	p.expect("LAST web/10.rrd\nLAST web/39.rrd\n", "0 1000000020\n0 1000000020\n")

	// The files are as they were, and a series that is there is not made again.
	if info, err := os.Stat(file("web/10.rrd")); err != nil || info.Size() == 0 {
		t.Errorf("the file has changed: %v, %v", info, err)
	}
	if _, err := s.store.Lookup("web/6"); err == nil {
		t.Error("web/6.rrd is a series, and nobody named it")
	}

	// A damaged file is reported. A link out of the base, and a file that is not rrdtool's, are
	// treated as if they were absent.
	b, err := os.ReadFile(file("web/7.rrd"))
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "x.rrd")
	for name, content := range map[string][]byte{file("cut.rrd"): b[:len(b)-9], outside: b, file("text.rrd"): []byte("a text")} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, file("link.rrd")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link.rrd", "text.rrd"} {
		p.expect("UPDATE "+name+" 1000000010:1\n", "-1 No such file: "+file(name)+"\n")
	}
	if answer := p.ask("UPDATE cut.rrd 1000000010:1"); !strings.HasPrefix(answer, "-1 ") || !strings.Contains(answer, "cut") && !strings.Contains(answer, "bytes") {
		t.Errorf("a file that is cut off: %q", answer)
	}
}

// TestAdoptOff: without the option files are nothing to the server.
func TestAdoptOff(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	writeNative(t, filepath.Join(s.base, "a.rrd"), 1_000_000_000, 1)
	p := dial(t, s.addr)
	p.expect("UPDATE a.rrd 1000000010:1\n", "-1 No such file: "+s.base+"/a.rrd\n")
}

// TestAdoptedByTwo: who asks for a series of a file while another client updates it first finds it,
// too.
func TestAdoptedByTwo(t *testing.T) {
	s := serve(t, rrdcached.Options{Adopt: true}, 0)
	const files = 60
	for i := range files {
		writeNative(t, filepath.Join(s.base, fmt.Sprintf("%d.rrd", i)), 1_000_000_000, 1)
	}
	updates, asks := dial(t, s.addr), dial(t, s.addr)
	for i := range files {
		updates.send(fmt.Sprintf("UPDATE %d.rrd 1000000010:1\n", i))
		if got := asks.ask(fmt.Sprintf("LAST %d.rrd", i)); got != "0 1000000000\n" && got != "0 1000000010\n" {
			t.Errorf("%d: %q", i, got)
		}
		if got := updates.answer(); got != "0 errors, enqueued 1 value(s).\n" {
			t.Errorf("%d: %q", i, got)
		}
	}
}

// TestAdoptOpensOnce: a file that is exchanged with a link out of the base, while clients name it,
// is never read from there.
func TestAdoptOpensOnce(t *testing.T) {
	const inside, outside, names = 1_000_000_000, 1_100_000_000, 200
	s := serve(t, rrdcached.Options{Adopt: true}, 0)
	secret := filepath.Join(shortDir(t), "secret.rrd")
	writeNative(t, secret, outside, 1)
	file := func(i int) string { return filepath.Join(s.base, fmt.Sprintf("%d.rrd", i)) }
	for i := range names {
		writeNative(t, file(i), inside, 1)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	var now atomic.Int64
	go func() {
		defer close(stopped)
		link, kept := filepath.Join(s.base, "link"), filepath.Join(s.base, "kept")
		for {
			select {
			case <-stop:
				return
			default:
			}
			name := file(int(now.Load()))
			if os.Link(name, kept) != nil || os.Symlink(secret, link) != nil || os.Rename(link, name) != nil || os.Rename(kept, name) != nil {
				_, _ = os.Remove(kept), os.Remove(link) // the next try begins anew
			}
		}
	}()
	p := dial(t, s.addr)
	for i := range names {
		now.Store(int64(i))
		if got := p.ask(fmt.Sprintf("LAST %d", i)); got == fmt.Sprintf("0 %d\n", outside) {
			t.Errorf("%d: a file outside the base was adopted", i)
		}
	}
	close(stop)
	<-stopped
}

// TestAdoptWaitsForNoPipe: a name that is a pipe is no file, and nobody waits for its writer.
func TestAdoptWaitsForNoPipe(t *testing.T) {
	s := serve(t, rrdcached.Options{Adopt: true}, 0)
	if err := syscall.Mkfifo(filepath.Join(s.base, "pipe.rrd"), 0o600); err != nil {
		t.Fatal(err)
	}
	dial(t, s.addr).expect("LAST pipe\n", "-1 RRD Error: opening '"+s.base+"/pipe': No such file or directory\n")
}
