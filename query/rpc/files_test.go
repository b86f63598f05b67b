package rpc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// TestPipeFiles: the caller of Pipe gives and takes files while more of its input is on the way.
func TestPipeFiles(t *testing.T) {
	dir := t.TempDir()
	serveLocal(t, dir, enginetest.Open(t))
	c := dialLocal(t, dir)
	stream, err := c.Pipe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }() // its answers have been read
	send := func(m *rondov1.ExecRequest) {
		t.Helper()
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	input := "create a.rrd -b 1000000000 DS:v:GAUGE:600:U:U RRA:AVERAGE:0.5:1:20000\nupdate a.rrd 1000000300:7\ndump a.rrd out\n"
	send(&rondov1.ExecRequest{Argv: []string{"-"}, Plain: true, Files: true, Stdin: []byte(input)})
	const more = 3000
	for range more { // before the server has its first answer
		send(&rondov1.ExecRequest{Stdin: []byte("last a.rrd\n")})
	}
	send(&rondov1.ExecRequest{Stdin: []byte("restore out b.rrd\nlast b.rrd\ndump a.rrd nowhere\n")})
	send(&rondov1.ExecRequest{StdinEnd: true})
	var file, rest, out strings.Builder
	for {
		m, err := stream.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if m.ExitCode != nil {
			break
		}
		out.Write(m.GetStdout())
		q := m.GetFile()
		if q == nil {
			continue
		}
		a := &rondov1.FileAnswer{Regular: true}
		switch q.GetOp() {
		case rondov1.FileRequest_CREATE:
			if q.GetName() == "nowhere" {
				a.Error, a.Errno = "no such file", 2
			}
		case rondov1.FileRequest_OPEN:
			rest.WriteString(file.String())
		case rondov1.FileRequest_WRITE:
			file.Write(q.GetData())
		case rondov1.FileRequest_READ:
			text := rest.String()
			n := min(int(q.GetSize()), len(text))
			a.Data = []byte(text[:n])
			rest.Reset()
			rest.WriteString(text[n:])
		}
		send(&rondov1.ExecRequest{File: a})
	}
	if !strings.Contains(file.String(), "</rrd>") {
		t.Errorf("the dump has %d bytes and no end", file.Len())
	}
	if n := strings.Count(out.String(), "1000000300\nOK "); n != more+1 {
		t.Errorf("%d answers to last, want %d", n, more+1)
	}
	if !strings.HasSuffix(out.String(), "ERROR: creating 'nowhere': No such file or directory\n") {
		t.Errorf("the last answers are %q", out.String()[max(0, out.Len()-200):])
	}
}

// TestPipeLeavesFreshPicture: graph --lazy leaves a picture of the caller that is fresh, and draws an
// old one again. The server took every picture for old.
func TestPipeLeavesFreshPicture(t *testing.T) {
	dir := t.TempDir()
	serveLocal(t, dir, enginetest.Open(t))
	c := dialLocal(t, dir)
	for name, modified := range map[string]time.Time{"fresh": time.Now(), "old": time.Now().AddDate(-1, 0, 0)} {
		stream, err := c.Pipe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		input := []byte("graph x.png --lazy --start end-1y --end now HRULE:1#ff0000\n")
		for _, m := range []*rondov1.ExecRequest{{Argv: []string{"-"}, Plain: true, Files: true, Stdin: input}, {StdinEnd: true}} {
			if err := stream.Send(m); err != nil {
				t.Fatal(err)
			}
		}
		var out strings.Builder
		drawn := false
		for {
			m, err := stream.Receive()
			if err != nil {
				t.Fatal(err)
			}
			out.Write(m.GetStdout())
			if m.ExitCode != nil {
				break
			}
			if q := m.GetFile(); q != nil {
				a := &rondov1.FileAnswer{Regular: true, Modified: modified.Unix()}
				drawn = drawn || q.GetOp() == rondov1.FileRequest_CREATE
				if q.GetOp() == rondov1.FileRequest_READ {
					a.Data = []byte("\x89PNG\r\n\x1a\n")
				}
				if err := stream.Send(&rondov1.ExecRequest{File: a}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if drawn == (name == "fresh") || !strings.Contains(out.String(), "481x") {
			t.Errorf("%s: drawn: %t, %q", name, drawn, out.String())
		}
		_ = stream.Close() // its answers have been read
	}
}
