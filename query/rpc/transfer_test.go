package rpc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// TestFilesComeAndGo: a series goes out as a native file and as XML, and comes in again with the
// same rows.
func TestFilesComeAndGo(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false, connect.WithProtoJSON())
	create(t, c, "a")
	write(t, c, &rondov1.Sample{Path: "a", Update: "1699999010:100:1.5"}, &rondov1.Sample{Path: "a", Update: "1699999020:200:2.5"})
	for _, xml := range []bool{false, true} {
		file := exported(t, c, "a", xml)
		if bytes.HasPrefix(file, []byte("RRD\x00")) == xml {
			t.Errorf("XML %v: the file begins with %.20q", xml, file)
		}
		path := fmt.Sprint("copy/", xml)
		r, err := c.Import(t.Context(), &rondov1.ImportFileRequest{
			Path: path, Data: file, Labels: []*typesv1.Label{{Name: "from", Value: "file"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		info, err := c.Info(t.Context(), &rondov1.InfoRequest{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if s := info.GetSeries(); s.GetRef() != r.GetRef() || r.GetSkipped() || s.GetLabels()[0].GetValue() != "file" {
			t.Errorf("%v is imported as %v", s, r)
		}
		if !bytes.Equal(exported(t, c, path, xml), exported(t, c, "a", xml)) {
			t.Errorf("XML %v: the copy is another series", xml)
		}
		again, err := c.Import(t.Context(), &rondov1.ImportFileRequest{Path: path, Data: file})
		if err != nil || !again.GetSkipped() {
			t.Errorf("the same file again: %v, %v", again, err)
		}
	}
	old := exported(t, c, "a", false)
	write(t, c, &rondov1.Sample{Path: "a", Update: "1699999030:300:3.5"})
	for _, tt := range []struct {
		m    *rondov1.ImportFileRequest
		code connect.Code
	}{
		{&rondov1.ImportFileRequest{Data: old}, connect.CodeInvalidArgument},
		{&rondov1.ImportFileRequest{Path: "b"}, connect.CodeInvalidArgument},
		{&rondov1.ImportFileRequest{Path: "b", Data: []byte("no file")}, connect.CodeInvalidArgument},
		{&rondov1.ImportFileRequest{Path: "b", Data: old[:len(old)/2]}, connect.CodeInvalidArgument},
		{&rondov1.ImportFileRequest{Path: "../b", Data: old}, connect.CodeInvalidArgument},
		{&rondov1.ImportFileRequest{Path: "a", Data: old}, connect.CodeAlreadyExists},
	} {
		if _, err := c.Import(t.Context(), tt.m); connect.CodeOf(err) != tt.code {
			t.Errorf("import %.60v: %v, want %v", tt.m, err, tt.code)
		}
	}
	if _, err := c.Import(t.Context(), &rondov1.ImportFileRequest{Path: "a", Data: old, Overwrite: true}); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(exported(t, c, "a", false), old) {
		t.Error("overwriting has not brought the old rows")
	}
	if _, err := c.Export(t.Context(), &rondov1.ExportFileRequest{Path: "nosuch"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("export what is not there: %v", err)
	}
}

func exported(t *testing.T, c rondov1.RondoClient, path string, xml bool) []byte {
	t.Helper()
	r, err := c.Export(t.Context(), &rondov1.ExportFileRequest{Path: path, Xml: xml})
	if err != nil {
		t.Fatal(err)
	}
	return r.GetData()
}

// TestManyFilesStream: ExportMany streams the files of all series below a prefix, and ImportMany
// takes them in pieces. It speaks gRPC, as grpcurl does.
func TestManyFilesStream(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, true, connect.WithGRPC())
	for i := range 5 {
		path := fmt.Sprint("web/", i)
		create(t, c, path)
		write(t, c, &rondov1.Sample{Path: path, Update: fmt.Sprintf("1699999010:%d:1.5", i)})
	}
	create(t, c, "other")
	down, err := c.ExportMany(t.Context(), &rondov1.ExportRequest{Prefix: "web/"})
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	path := ""
	for down.Receive() {
		m := down.Msg()
		if m.GetPath() != "" {
			path = m.GetPath()
		}
		files[path] = append(files[path], m.GetData()...)
	}
	if err := errors.Join(down.Err(), down.Close()); err != nil || len(files) != 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	up, err := c.ImportMany(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	first := true
	for path, data := range files {
		order = append(order, path)
		for i := 0; i < len(data); i += 1000 {
			m := &rondov1.ImportRequest{Data: data[i:min(i+1000, len(data))], Complete: i+1000 >= len(data)}
			if i == 0 {
				m.Path = strings.Replace(path, "web", "copy", 1)
			}
			if first {
				m.Labels = []*typesv1.Label{{Name: "from", Value: "files"}}
				first = false
			}
			if err := up.Send(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := up.Send(&rondov1.ImportRequest{Path: "bad", Data: []byte("x"), Complete: true}); err != nil {
		t.Fatal(err)
	}
	if err := up.CloseRequest(); err != nil {
		t.Fatal(err)
	}
	outcomes := 0
	for {
		m, err := up.Receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		outcomes++
		if bad := m.GetIndex() == 5; bad != (m.GetError() != "") || m.GetSkipped() || !bad && m.GetPath() != strings.Replace(order[m.GetIndex()], "web", "copy", 1) {
			t.Errorf("outcome %v", m)
		}
	}
	if outcomes != 6 {
		t.Errorf("%d outcomes", outcomes)
	}
	for path, data := range files {
		if !bytes.Equal(exported(t, c, strings.Replace(path, "web", "copy", 1), false), data) {
			t.Errorf("%s came in as another series", path)
		}
	}
}

// backedUp makes a backup of everything, or of what changed since one with a head.
func backedUp(t *testing.T, c rondov1.RondoClient, head []byte) ([]byte, error) {
	t.Helper()
	stream, err := c.Backup(t.Context(), &rondov1.BackupRequest{Since: head})
	if err != nil {
		return nil, err
	}
	var got bytes.Buffer
	for stream.Receive() {
		got.Write(stream.Msg().GetData())
	}
	return got.Bytes(), errors.Join(stream.Err(), stream.Close())
}

// TestBackupSinceByRPC: a client sends the head of a backup, and gets what changed since.
func TestBackupSinceByRPC(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	full, err := backedUp(t, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	base, err := core.ReadBackupHead(bytes.NewReader(full))
	if err != nil {
		t.Fatal(err)
	}
	head, _ := base.AppendBinary(nil) // it does not fail
	create(t, c, "b")
	part, err := backedUp(t, c, head)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	names := []string{filepath.Join(dir, "full"), filepath.Join(dir, "part")}
	to := filepath.Join(dir, "restored")
	if err := errors.Join(os.WriteFile(names[0], full, 0o600), os.WriteFile(names[1], part, 0o600), core.RestoreFiles(to, names...)); err != nil {
		t.Fatal(err)
	}
	if _, err := enginetest.OpenDir(t, to, core.Options{}).Lookup("b"); err != nil {
		t.Error(err)
	}
	_, other := serve(t)
	if _, err := backedUp(t, client(t, other, false), head); connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("the head of another database: %v", err)
	}
	for _, bad := range [][]byte{{1}, head[:len(head)-1], append(bytes.Clone(head), 0), make([]byte, 1<<10)} {
		want := connect.CodeInvalidArgument
		if bad[0] != head[0] {
			want = connect.CodeFailedPrecondition // of another format
		}
		if _, err := backedUp(t, c, bad); connect.CodeOf(err) != want {
			t.Errorf("%.10x…: %v", bad, err)
		}
	}
}

// TestBackupAndCheckByRPC: both were to be had at the socket only.
func TestBackupAndCheckByRPC(t *testing.T) {
	store, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	// Shards without a series of the batch may have noted its position after the answer.
	if err := store.WaitFor(t.Context(), store.Acknowledged()); err != nil {
		t.Fatal(err)
	}
	full, err := backedUp(t, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := core.VerifyBackup(t.Context(), bytes.NewReader(full))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := store.Backup(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if want, err := core.VerifyBackup(t.Context(), &out); err != nil || got != want || got.Entries == 0 {
		t.Errorf("a backup of %+v, want %+v, %v", got, want, err)
	}
	defects, err := c.Check(t.Context(), &rondov1.CheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for defects.Receive() {
		t.Errorf("a defect: %v", defects.Msg())
	}
	if err := errors.Join(defects.Err(), defects.Close()); err != nil {
		t.Error(err)
	}
}

// TestImportManyRefusesOneFile: a file for a series outside of a limited user's folders ended the
// whole stream, and the files beside it were not imported.
func TestImportManyRefusesOneFile(t *testing.T) {
	store := enginetest.Open(t)
	_, rondo := (&rpc.Server{Store: store}).Handler(nil)
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u := &access.User{Name: "u", Role: access.Write, Folders: []string{"own"}}
		rondo.ServeHTTP(w, r.WithContext(access.With(r.Context(), u)))
	}))
	h.Config.Protocols = new(http.Protocols)
	h.Config.Protocols.SetUnencryptedHTTP2(true)
	h.Start()
	t.Cleanup(h.Close)
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	file := exported(t, c, "a", false)
	up, err := client(t, h.URL, true, connect.WithGRPC()).ImportMany(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"own/a", "other/b", "own/c"} {
		if err := up.Send(&rondov1.ImportRequest{Path: path, Data: file, Complete: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := up.CloseRequest(); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]bool)
	for {
		m, err := up.Receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got[m.GetPath()] = m.GetError() == ""
	}
	if want := map[string]bool{"own/a": true, "other/b": false, "own/c": true}; !maps.Equal(got, want) {
		t.Errorf("outcomes %v, want %v", got, want)
	}
	if _, err := store.Lookup("other/b"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("the series of others: %v", err)
	}
}
