package server

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// commanded returns a server whose users are named by the header Authorization, and a function that
// runs a command as one of them. With pipe it is a line of a session.
func commanded(t *testing.T, users map[string]*access.User) (s *server, run func(user string, pipe bool, words ...string) string) {
	t.Helper()
	s = &server{Config: Config{DB: t.TempDir()}.withDefaults(), middleware: quietMiddleware(middleware.DefaultBounds(0)), store: enginetest.Open(t)}
	identify := func(r *http.Request, _ string) (*access.User, error) {
		if u := users[r.Header.Get("Authorization")]; u != nil {
			return u, nil
		}
		return nil, &middleware.RejectedError{Why: middleware.RejectedUser, Text: "say who you are"}
	}
	s.middleware.Authorizer = middleware.Authorizer{Identify: identify, Challenges: func() []string { return []string{"Basic"} }}
	s.receivers = newManager(s)
	s.rpc, s.pages = s.newRPC(), nil
	s.pages = s.newPages()
	s.queries = s.newQueries()
	all, scrapes := s.handlers()
	s.remote.Remote.User = nil
	s.middleware.Authorizer.Permission = all.Permission
	s.middleware.Open(all, scrapes)
	h := httptest.NewServer(s.middleware)
	t.Cleanup(func() {
		h.Close()
		s.remote.Close(0)
	})
	return s, func(user string, pipe bool, words ...string) string {
		t.Helper()
		c, err := rpc.DialWith(t.Context(), h.URL, rpc.Options{Authorization: user})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if pipe {
			return inSession(t, c, strings.Join(words, " ")+"\n")
		}
		return alone(t, c, &rondov1.ExecRequest{Argv: words})
	}
}

// alone runs a command by Exec and returns all that it prints.
func alone(t *testing.T, c *rpc.Client, req *rondov1.ExecRequest) string {
	t.Helper()
	var out bytes.Buffer
	stream, err := c.Exec(t.Context(), req)
	if err != nil {
		return "refused: " + err.Error()
	}
	defer func() { _ = stream.Close() }() // it has been read
	for stream.Receive() {
		out.Write(stream.Msg().GetStdout())
		out.Write(stream.Msg().GetStderr())
	}
	if err := stream.Err(); err != nil {
		return "refused: " + err.Error()
	}
	return out.String()
}

// inSession runs lines in a session and returns all that it prints.
func inSession(t *testing.T, c *rpc.Client, lines string) string {
	t.Helper()
	s, err := c.Pipe(t.Context())
	if err != nil {
		return "refused: " + err.Error()
	}
	defer func() { _ = s.Close() }() // it has been read
	if err := s.Send(&rondov1.ExecRequest{Argv: []string{"-"}, Files: true, Stdin: []byte(lines)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Send(&rondov1.ExecRequest{StdinEnd: true}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for {
		m, err := s.Receive()
		if err != nil {
			return out.String() + "refused: " + err.Error()
		}
		out.Write(m.GetStdout())
		out.Write(m.GetStderr())
		if m.ExitCode != nil {
			return out.String()
		}
		if m.GetFile() != nil {
			if err := s.Send(&rondov1.ExecRequest{File: &rondov1.FileAnswer{Error: "no such file", Errno: 2}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// testUsers are users of each role, and one who may do everything below team.
func testUsers() map[string]*access.User {
	return map[string]*access.User{
		"reader": {Name: "reader", Role: access.Read},
		"writer": {Name: "writer", Role: access.Write},
		"admin":  {Name: "admin", Role: access.Admin},
		"tenant": {Name: "tenant", Role: access.Admin, Folders: []string{"team"}},
		"nobody": {Name: "nobody", Role: access.None},
	}
}

const madeOf = " -s 10 -b 1000000000 DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10"

// roleOf is the role that each verb needs, with a command that then succeeds. The command is run by
// each user on a series that is made anew.
var roleOf = map[string]struct {
	role    access.Role
	command string
}{
	"create":      {access.Write, "create NAME-new" + madeOf},
	"update":      {access.Write, "update NAME 1000000010:1"},
	"updatev":     {access.Write, "updatev NAME 1000000010:1"},
	"graph":       {access.Read, ""}, // the server has no file for it: the caller draws
	"graphv":      {access.Read, ""},
	"dump":        {access.Read, "dump NAME"},
	"restore":     {access.Write, ""}, // has an input: see TestRestoreByRole
	"last":        {access.Read, "last NAME"},
	"lastupdate":  {access.Read, "lastupdate NAME"},
	"first":       {access.Read, "first NAME"},
	"info":        {access.Read, "info NAME"},
	"list":        {access.Read, "list FOLDER"},
	"fetch":       {access.Read, "fetch NAME AVERAGE -s 1000000000 -e 1000000020"},
	"tune":        {access.Admin, "tune NAME -h x:77"},
	"resize":      {access.Write, ""}, // makes resize.rrd at the top: see TestResizeByRole
	"xport":       {access.Read, "xport -s 1000000000 -e 1000000020 DEF:a=NAME:x:AVERAGE XPORT:a"},
	"flushcached": {access.Read, "flushcached NAME"},
	"alter":       {access.Admin, "alter NAME --add-rra RRA:MAX:0.5:1:10"},
}

// TestCommandsNeedRoles: what a command over HTTP needs depends on the command. An update inside
// the Exec of a read-only user is refused, and so is a line of pipe mode.
func TestCommandsNeedRoles(t *testing.T) {
	_, run := commanded(t, testUsers())
	for _, verb := range append(rrdtool.Verbs(), rrdtool.OwnVerbs()...) {
		c, ok := roleOf[verb]
		if !ok {
			t.Errorf("nobody has decided what %s needs", verb)
		}
		if c.command == "" {
			continue
		}
		for name, user := range testUsers() {
			for _, pipe := range []bool{false, true} {
				series := fmt.Sprintf("team/%s-%s-%v", verb, name, pipe)
				if got := run("admin", false, strings.Fields("create "+series+madeOf)...); got != "" {
					t.Fatal(got)
				}
				words := strings.Fields(strings.NewReplacer("NAME", series, "FOLDER", "team").Replace(c.command))
				got := run(name, pipe, words...)
				refused := strings.Contains(got, "permission denied") || strings.HasPrefix(got, "refused: ")
				if want := user.Role < c.role; refused != want || !refused && strings.Contains(got, "ERROR") {
					t.Errorf("%s by %s, pipe %v: %q; refused %v, want %v", words, name, pipe, got, refused, want)
				}
			}
		}
	}
}

// TestWritersReplaceNothing: who may make series could replace others by it.
func TestWritersReplaceNothing(t *testing.T) {
	s, run := commanded(t, testUsers())
	if got := run("admin", false, strings.Fields("create team/a"+madeOf)...); got != "" {
		t.Fatal(got)
	}
	ref, err := s.store.Lookup("team/a")
	if err != nil {
		t.Fatal(err)
	}
	dump := run("admin", false, "dump", "team/a")
	for _, pipe := range []bool{false, true} {
		for _, command := range []string{"create team/a" + madeOf, "create team/a -O" + madeOf, "resize team/a 0 GROW 10", "create team/a --source team/a" + madeOf} {
			got := run("writer", pipe, strings.Fields(command)...)
			if strings.HasPrefix(command, "resize") {
				continue // it makes another series: resize.rrd
			}
			if !strings.Contains(got, "ERROR") {
				t.Errorf("%s by a writer, pipe %v: %q", command, pipe, got)
			}
		}
	}
	if got := run("writer", false, "resize", "team/a", "0", "GROW", "10"); !strings.Contains(got, "permission denied") {
		t.Errorf("a second resize replaces the first one's series: %q", got)
	}
	if now, err := s.store.Lookup("team/a"); err != nil || now != ref {
		t.Errorf("the series was replaced: %v, %v and %v", err, now, ref)
	}
	if got := run("admin", false, "dump", "team/a"); got != dump {
		t.Errorf("the series has changed from %s to %s", dump, got)
	}
}

// usedTime is what pipe mode says of the processor time that a command took.
var usedTime = regexp.MustCompile(`OK u:[0-9.]+ s:[0-9.]+ r:[0-9.]+`)

// TestCommandsStayInFolders: a user who is limited to folders sees and changes only these, by every
// verb, and gets the same answer for a series that is there and for one that is not.
func TestCommandsStayInFolders(t *testing.T) {
	s, run := commanded(t, testUsers())
	for _, name := range []string{"secret/NAME", "team/a"} {
		if got := run("admin", false, strings.Fields("create "+name+madeOf)...); got != "" {
			t.Fatal(got)
		}
	}
	for verb, c := range roleOf {
		for _, pipe := range []bool{false, true} {
			for _, folder := range []string{"secret", "/secret", "team/../secret", "team/./../secret"} {
				command := strings.NewReplacer("NAME", folder+"/NAME", "FOLDER", folder).Replace(c.command)
				nosuch := strings.ReplaceAll(command, "secret/NAME", "secret/NONE")
				if command == "" {
					continue
				}
				got, none := run("tenant", pipe, strings.Fields(command)...), run("tenant", pipe, strings.Fields(nosuch)...)
				got, none = usedTime.ReplaceAllString(got, "OK"), usedTime.ReplaceAllString(none, "OK")
				if got = strings.ReplaceAll(got, "NAME", "NONE"); got != none {
					t.Errorf("%s answers %q, and of what is not there %q", command, got, none)
				}
				if verb != "list" && !strings.Contains(got, "permission denied") {
					t.Errorf("%s, pipe %v: %q", command, pipe, got)
				}
			}
		}
	}
	for _, lines := range []string{"list", "list -r /", "ls", "cd secret", "xport -s 1000000000 -e 1000000020 DEF:a=secret/NAME:x:AVERAGE XPORT:a"} {
		if got := run("tenant", true, lines); strings.Contains(got, "NAME\n") || strings.Contains(got, "d secret") {
			t.Errorf("%s shows a limited user %q", lines, got)
		}
	}
	if _, err := s.store.Lookup("secret/NAME-new"); err == nil {
		t.Error("a limited user has made a series elsewhere")
	}
	if got := run("tenant", true, "update team/a 1000000010:1\nlast team/a"); !strings.Contains(got, "1000000010\nOK") {
		t.Errorf("a limited user does not reach its own series: %q", got)
	}
}

// TestRestoreByRole: restore makes a series for a writer, and replaces one for an admin only.
func TestRestoreByRole(t *testing.T) {
	s, run := commanded(t, testUsers())
	if got := run("admin", false, strings.Fields("create team/a"+madeOf)...); got != "" {
		t.Fatal(got)
	}
	xml := run("reader", false, "dump", "team/a")
	h := httptest.NewServer(s.middleware)
	defer h.Close()
	for _, tt := range []struct {
		user, args, want string
	}{
		{"reader", "restore - team/b", "ERROR: permission denied"},
		{"writer", "restore - team/b", ""},
		{"writer", "restore -f - team/b", "ERROR: permission denied"},
		{"tenant", "restore - elsewhere", "ERROR: permission denied"},
		{"tenant", "restore -f - team/b", ""},
	} {
		c, err := rpc.DialWith(t.Context(), h.URL, rpc.Options{Authorization: tt.user})
		if err != nil {
			t.Fatal(err)
		}
		got := alone(t, c, &rondov1.ExecRequest{Argv: strings.Fields(tt.args), Stdin: []byte(xml)})
		c.Close()
		if tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s by %s: %q, want %q", tt.args, tt.user, got, tt.want)
		}
	}
}

// TestCommandsOfStrangers: a server that asks nobody who they are takes commands from its own
// machine only.
func TestCommandsOfStrangers(t *testing.T) {
	s, _ := commanded(t, nil)
	s.middleware.Authorizer.Identify = nil
	for _, path := range []string{rondov1.RondoControlProcedure} {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader("{}"))
		r.RemoteAddr, r.Host = "192.0.2.1:1", "localhost"
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.middleware.ServeHTTP(w, r)
		if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "from this machine only") {
			t.Errorf("%s of a stranger: %d %q", path, w.Code, w.Body)
		}
	}
	for from, want := range map[string]int{"127.0.0.1:1": http.StatusOK, "[::1]:1": http.StatusOK, "[::ffff:127.0.0.1]:1": http.StatusOK, "192.0.2.1:1": http.StatusForbidden, "[2001:db8::1]:1": http.StatusForbidden, "@": http.StatusForbidden} {
		for _, path := range []string{rondov1.RondoExecProcedure, rpc.PipePath} {
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader("\x00\x00\x00\x00\x02{}"))
			r.RemoteAddr, r.Host = from, "localhost"
			r.Header.Set("Content-Type", "application/connect+json")
			w := httptest.NewRecorder()
			s.middleware.ServeHTTP(w, r)
			told := w.Code
			if strings.Contains(w.Body.String(), "from this machine only") {
				told = http.StatusForbidden
			}
			if path == rpc.PipePath && want == http.StatusOK {
				continue // it is no request for a session
			}
			if told != want {
				t.Errorf("%s from %s: %d %q", path, from, w.Code, w.Body)
			}
		}
	}
}

// TestBrowsersReachNoCommand: a page in a browser must not be able to run a command: neither by
// what a page of another site may send unasked, nor by a name of that site that means this machine,
// nor after asking by OPTIONS.
func TestBrowsersReachNoCommand(t *testing.T) {
	s, _ := commanded(t, nil)
	s.middleware.Authorizer.Identify = nil
	s.middleware.Hosts = middleware.NewHosts(nil, nil, nil)
	message := `{"argv":["create","made","DS:v:GAUGE:20:U:U","RRA:AVERAGE:0.5:1:9"]}`
	body := "\x00\x00\x00\x00" + string(rune(len(message))) + message
	ask := func(method, kind, host, origin string) (int, http.Header, string) {
		r := httptest.NewRequest(method, rondov1.RondoExecProcedure, strings.NewReader(body))
		r.RemoteAddr, r.Host = "127.0.0.1:1", host
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		w := httptest.NewRecorder()
		s.middleware.ServeHTTP(w, r)
		return w.Code, w.Header(), w.Body.String()
	}
	for _, kind := range []string{
		"", "text/plain", "text/plain;application/connect+json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
		"application/json", "application/connect+json", "application/connect+proto", "application/grpc", "application/grpc-web", "application/grpc-web+json", "application/grpc-web-text",
	} {
		for _, from := range []struct{ host, origin string }{
			{"localhost", "https://evil.example"}, {"localhost", "null"}, {"rebound.example", ""}, {"rebound.example", "http://rebound.example"},
		} {
			if code, _, text := ask(http.MethodPost, kind, from.host, from.origin); code != http.StatusForbidden {
				t.Errorf("%q with Host %s, Origin %s: %d %s", kind, from.host, from.origin, code, text)
			}
		}
	}
	// What a page may send without asking first is no request of the service, if no Origin comes.
	for _, kind := range []string{"", "text/plain", "text/plain;application/connect+json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		if code, _, text := ask(http.MethodPost, kind, "localhost", ""); code != http.StatusUnsupportedMediaType {
			t.Errorf("%q: %d %s", kind, code, text)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodOptions} {
		code, header, _ := ask(method, "application/connect+json", "localhost", "")
		if code < 400 {
			t.Errorf("%s: %d", method, code)
		}
		for name := range header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s is answered with %s", method, name)
			}
		}
	}
	if _, err := s.store.Lookup("made"); err == nil {
		t.Fatal("a page has run a command")
	}
	if code, _, text := ask(http.MethodPost, "application/connect+json", "localhost", ""); code != http.StatusOK || !strings.Contains(text, "exitCode") {
		t.Errorf("a program: %d %q", code, text)
	}
	if _, err := s.store.Lookup("made"); err != nil {
		t.Errorf("the command of a program, which the others are like: %v", err)
	}
}
