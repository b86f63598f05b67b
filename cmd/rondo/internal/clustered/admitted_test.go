package clustered

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig/webconfigtest"
	"github.com/rondo-db/rondo/engine/core"
)

func init() { admittedTime = time.Minute }

// certified returns what --cluster-node-tls makes of certificates of an authority.
func certified(t *testing.T, a *webconfigtest.Authority) *tls.Config {
	t.Helper()
	a.Leaf(t, "node", webconfigtest.Leaf{})
	cert, err := tls.LoadX509KeyPair(filepath.Join(a.Dir, "node.crt"), filepath.Join(a.Dir, "node.key"))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert},
		RootCAs: a.Pool(), ClientCAs: a.Pool(), ClientAuth: tls.RequireAndVerifyClientCert,
	}
}

// answering answers other nodes as a node does, and returns its address.
func answering(t *testing.T, token string, config *tls.Config) string {
	t.Helper()
	s := &peer.Server{
		Partition: func(int) (core.Engine, error) { return nil, core.ErrUnavailable },
		Token:     token, Certificates: config != nil,
	}
	path, h, err := s.Handler()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(path, h)
	web := &http.Server{Handler: mux, TLSConfig: config.Clone(), Protocols: new(http.Protocols), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	web.Protocols.SetHTTP2(config != nil)
	web.Protocols.SetUnencryptedHTTP2(config == nil)
	go func() {
		if config != nil {
			_ = web.ServeTLS(l, "", "") // until it is closed
			return
		}
		_ = web.Serve(l) // as well
	}()
	t.Cleanup(func() { _ = web.Close() })
	return l.Addr().String()
}

// announcing lets nodes announce themselves until the test is over.
func announcing(t *testing.T, servers *coordtest.Servers, addresses map[string]string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	all := make(map[string]*coord.Announcer)
	announce := func() {
		for name, at := range addresses {
			if all[name] == nil {
				all[name] = &coord.Announcer{Store: servers.Truth()}
			}
			_ = all[name].Announce(ctx, coord.Member{Name: name, Session: "1", Address: at}, nil) // ctx may have ended
		}
	}
	announce()
	go func() {
		defer close(ended)
		for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
			announce()
		}
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
}

// TestNodesKnowEachOther: a node with another token, without TLS where the others have it, with it
// where they have none, or with certificates of somebody else, joined the cluster and led
// partitions, and no other node could talk to it.
func TestNodesKnowEachOther(t *testing.T) {
	ours, theirs := certified(t, webconfigtest.New(t, "ours")), certified(t, webconfigtest.New(t, "theirs"))
	trusting := theirs.Clone() // it trusts ours, and they do not trust it
	trusting.RootCAs = ours.RootCAs
	const plain, bytls = "does not speak TLS", "speaks TLS, and this process does not: look at --cluster-node-tls"
	for _, x := range []struct {
		name        string
		there, here peer.Options
		want        string // empty: the node is admitted
	}{
		{"same token", peer.Options{Token: "a"}, peer.Options{Token: "a"}, ""},
		{"other token", peer.Options{Token: "a"}, peer.Options{Token: "b"}, "look at --cluster-token-file"},
		{"same authority", peer.Options{TLS: ours}, peer.Options{TLS: ours}, ""},
		{"both", peer.Options{Token: "a", TLS: ours}, peer.Options{Token: "a", TLS: ours}, ""},
		{"other token by TLS", peer.Options{Token: "a", TLS: ours}, peer.Options{Token: "b", TLS: ours}, "look at --cluster-token-file"},
		{"no token by TLS", peer.Options{Token: "a", TLS: ours}, peer.Options{TLS: ours}, "look at --cluster-token-file"},
		{"TLS there", peer.Options{TLS: ours}, peer.Options{Token: "a"}, bytls},
		{"TLS here", peer.Options{Token: "a"}, peer.Options{TLS: ours}, plain},
		{"other authority", peer.Options{TLS: ours}, peer.Options{TLS: theirs}, "do not trust each other's certificates: look at --cluster-node-tls"},
		{"not trusted there", peer.Options{TLS: ours}, peer.Options{TLS: trusting}, "do not trust each other's certificates: look at --cluster-node-tls"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			at := answering(t, x.there.Token, x.there.TLS)
			servers := coordtest.New(time.Now, 0)
			announcing(t, servers, map[string]string{"other": at, "gone": "127.0.0.1:1"})
			p := &peers{options: x.here}
			taken, refused, err := p.admitted(t.Context(), servers.Truth(), coord.Member{Name: "me"})
			if err != nil || taken != (x.want == "") {
				t.Errorf("%v, %v", taken, err)
			}
			got := fmt.Sprint(refusedBy(refused))
			if x.want == "" && got != "<nil>" || !strings.Contains(got, x.want) || x.want != "" && !strings.HasPrefix(got, "node other at "+at+" ") {
				t.Errorf("%s; want %q", got, x.want)
			}
		})
	}
}

// TestOneWrongNodeStopsNoOther: a node starts if any other one takes its calls, and says in its log
// which one does not. It also starts if the one that refuses does not announce itself: that is
// another process, at the address of a node that has ended.
func TestOneWrongNodeStopsNoOther(t *testing.T) {
	right, wrong := answering(t, "a", nil), answering(t, "b", nil)
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listen.Close() }()
	ended := coordtest.New(time.Now, 0)
	a := &coord.Announcer{Store: ended.Truth()}
	if err := a.Announce(t.Context(), coord.Member{Name: "wrong", Session: "1", Address: wrong}, nil); err != nil {
		t.Fatal(err)
	}
	both, alone := coordtest.New(time.Now, 0), coordtest.New(time.Now, 0)
	announcing(t, both, map[string]string{"right": right, "wrong": wrong})
	announcing(t, alone, map[string]string{"wrong": wrong})
	for _, x := range []struct {
		name    string
		servers *coordtest.Servers
		want    string // of the error
		logs    bool   // the log names the wrong node
	}{
		{"one is right", both, "<nil>", true},
		{"only the wrong one", alone, "node wrong at " + wrong + " knows another token", false},
		{"an address that another process has", ended, "<nil>", false},
	} {
		log := new(bytes.Buffer)
		m := &Member{o: Options{Node: "me", Logger: slog.New(slog.NewTextHandler(log, nil))}, peers: &peers{options: peer.Options{Token: "a"}}, listen: listen}
		err := m.checkAdmitted(t.Context(), x.servers.Truth())
		if !strings.HasPrefix(fmt.Sprint(err), x.want) || strings.Contains(log.String(), "node=wrong") != x.logs {
			t.Errorf("%s: %v; log: %s", x.name, err, log)
		}
	}
}
