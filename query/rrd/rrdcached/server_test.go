package rrdcached_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/rra"
)

// makeIn returns what makes series below "made/" in a store, and where it notes what it was asked.
func makeIn(t testing.TB, store *core.Store, asked *[][]rrdcached.Missing) func(context.Context, []rrdcached.Missing) []error {
	d := fiveArchives(t)
	var mu sync.Mutex
	return func(ctx context.Context, missing []rrdcached.Missing) []error {
		mu.Lock()
		*asked = append(*asked, missing)
		mu.Unlock()
		errs := make([]error, len(missing))
		for i, m := range missing {
			if !strings.HasPrefix(m.Path, "made/") {
				errs[i] = core.ErrNotFound
				continue
			}
			if strings.HasSuffix(m.Path, "bad.rrd") {
				errs[i] = errors.New("not now")
				continue
			}
			_, errs[i] = store.Create(ctx, core.Spec{Path: m.Path, Definition: d, Start: m.Time - rra.Seconds(1)})
		}
		return errs
	}
}

func TestCreatedOnFirstUpdate(t *testing.T) {
	store := enginetest.Open(t)
	var asked [][]rrdcached.Missing
	s := serve(t, rrdcached.Options{Store: store, Make: makeIn(t, store, &asked)}, 0)
	p := dial(t, s.addr)
	p.expect("UPDATE made/a.rrd 1000000010:1\nUPDATE made/b.rrd 1000000010:1\nUPDATE other.rrd 1000000010:1\n"+
		"UPDATE made/a.rrd 1000000020:2 1000000030:3\nPING\nUPDATE made/bad.rrd 1000000010:1\nUPDATE made/c.rrd x:1\nUPDATE made/c.rrd 100:1\n"+
		"UPDATE ../made/x.rrd 1000000010:1\nUPDATE made/a.rrd 1000000015:9\n",
		"0 errors, enqueued 1 value(s).\n0 errors, enqueued 1 value(s).\n-1 No such file: "+s.base+"/other.rrd\n0 errors, enqueued 2 value(s).\n"+
			"0 PONG\n-1 not now\n-1 No such file: "+s.base+"/made/c.rrd\n-1 No such file: "+s.base+"/made/c.rrd\n-1 "+s.base+"/../made/x.rrd: Permission denied\n"+
			"-1 illegal attempt to update using time 1000000015.000000 when last update time is 1000000030.000000 (minimum one second step)\n")
	p.expect("FETCH made/a.rrd AVERAGE 1000000010 1000000029\n", "8 Success\nFlushVersion: 1\nStart: 1000000010\nEnd: 1000000030\nStep: 10\nDSCount: 1\n"+
		"DSName: value\n1000000020: 2.00000000000000000e+00\n1000000030: 3.00000000000000000e+00\n")
	first := asked[0][0]
	want := rrdcached.Missing{Path: "made/a.rrd", Values: 1, Time: rra.Seconds(1_000_000_010), Peer: "unix"}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

// TestRefusedMakesNothing: an update whose value is no number made its series, with its time as the
// last update, and was refused. Updates before that time were refused, too.
func TestRefusedMakesNothing(t *testing.T) {
	store := enginetest.Open(t)
	var asked [][]rrdcached.Missing
	s := serve(t, rrdcached.Options{Store: store, Make: makeIn(t, store, &asked)}, 0)
	p := dial(t, s.addr)
	for _, bad := range []string{"4000000000:abc", "4000000000:", "4000000000:1:x", "1:1", "4000000000"} {
		p.expect("UPDATE made/a.rrd "+bad+"\n", "-1 No such file: "+s.base+"/made/a.rrd\n")
	}
	p.expect("UPDATE made/a.rrd 1000000010:1\n", "0 errors, enqueued 1 value(s).\n")
}

// TestManyAreMadeAtOnce: a flood of new names is made in few calls, and every sample is stored.
func TestManyAreMadeAtOnce(t *testing.T) {
	store := enginetest.Open(t)
	var asked [][]rrdcached.Missing
	s := serve(t, rrdcached.Options{Store: store, Make: makeIn(t, store, &asked)}, 0)
	p := dial(t, s.addr)
	const series = 500
	var b strings.Builder
	b.WriteString("BATCH\n")
	for round := range 3 {
		for i := range series {
			fmt.Fprintf(&b, "UPDATE made/%d.rrd %d:%d\n", i, 1_000_000_010+10*round, i)
		}
	}
	p.send(b.String() + ".\n")
	p.line()
	if got := p.answer(); got != "0 errors\n" {
		t.Fatal(got)
	}
	if len(asked) > 20 {
		t.Errorf("asked %d times", len(asked))
	}
	if st := store.Stats(); st.Series != series || st.SamplesAccepted != 3*series {
		t.Errorf("%d series, %d samples", st.Series, st.SamplesAccepted)
	}
}

// TestSeriesChangeUnderTheServer: names that the server remembers are renamed, dropped and made
// again.
func TestSeriesChangeUnderTheServer(t *testing.T) {
	store := enginetest.Open(t)
	s := serve(t, rrdcached.Options{Store: store}, 0)
	p := dial(t, s.addr)
	p.expect("CREATE a.rrd"+definition+"\nCREATE b.rrd"+definition+"\nUPDATE a.rrd 1000000010:1\nUPDATE b.rrd 1000000010:1\n",
		"0 RRD created OK\n0 RRD created OK\n0 errors, enqueued 1 value(s).\n0 errors, enqueued 1 value(s).\n")
	ctx := t.Context()
	if err := store.Rename(ctx, "a.rrd", "c.rrd"); err != nil {
		t.Fatal(err)
	}
	missing := "-1 No such file: " + s.base + "/a.rrd\n"
	p.expect("UPDATE a.rrd 1000000020:1\nUPDATE b.rrd 1000000020:1\nUPDATE c.rrd 1000000020:1\nLAST a.rrd\nLAST c.rrd\n",
		missing+"0 errors, enqueued 1 value(s).\n0 errors, enqueued 1 value(s).\n"+
			"-1 RRD Error: opening '"+s.base+"/a.rrd': No such file or directory\n0 1000000020\n")
	if err := core.Drop(ctx, store, "c.rrd"); err != nil {
		t.Fatal(err)
	}
	p.expect("UPDATE c.rrd 1000000030:1 1000000040:1\nLAST c.rrd\n", "-1 No such file: "+s.base+"/c.rrd\n"+
		"-1 RRD Error: opening '"+s.base+"/c.rrd': No such file or directory\n")
	// Overwritten by somebody else: the name is another series, with another last update.
	d := fiveArchives(t)
	if _, err := store.Create(ctx, core.Spec{Path: "b.rrd", Definition: d, Start: rra.Seconds(1_000_000_100), Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	p.expect("UPDATE b.rrd 1000000090:1\nUPDATE b.rrd 1000000110:1.10 1000000120:2.5\nLAST b.rrd\nFETCH b.rrd AVERAGE 1000000110 1000000119\n",
		"-1 illegal attempt to update using time 1000000090.000000 when last update time is 1000000100.000000 (minimum one second step)\n"+
			"0 errors, enqueued 2 value(s).\n0 1000000120\n7 Success\nFlushVersion: 1\nStart: 1000000110\nEnd: 1000000120\nStep: 10\nDSCount: 1\nDSName: value\n"+
			"1000000120: 2.50000000000000000e+00\n")
	// Altered: reading goes on, and writing.
	p.expect("TUNE b.rrd -h value:700\nLAST b.rrd\nTUNE b.rrd -h value:800\nUPDATE b.rrd 1000000125:3\nTUNE b.rrd -h value:600\nFETCH b.rrd AVERAGE 1000000115 1000000119\n"+
		"TUNE b.rrd -h value:601\nFIRST b.rrd 0\nTUNE b.rrd -h x:600\n",
		"0 RRD tuned OK\n0 1000000120\n0 RRD tuned OK\n0 errors, enqueued 1 value(s).\n0 RRD tuned OK\n7 Success\nFlushVersion: 1\nStart: 1000000110\nEnd: 1000000120\nStep: 10\nDSCount: 1\nDSName: value\n"+
			"1000000120: 2.50000000000000000e+00\n0 RRD tuned OK\n0 999985730\n-1 RRD Error: unknown data source name 'x'\n")
	// And in the midst of a batch that is read at once.
	p.expect("UPDATE b.rrd 1000000130:1\nCREATE b.rrd -s 1 -b 1000000000 DS:x:GAUGE:9:U:U RRA:LAST:0:1:5\nUPDATE b.rrd 1000000001:1\nLAST b.rrd\n",
		"0 errors, enqueued 1 value(s).\n0 RRD created OK\n0 errors, enqueued 1 value(s).\n0 1000000001\n")
}

// TestWhatRRDCachedLosesIsRefused: it acknowledges these, and drops them when it writes them.
func TestWhatRRDCachedLosesIsRefused(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	p := dial(t, s.addr)
	p.expect("CREATE a.rrd -b 1000000000 -s 10 DS:x:GAUGE:20:U:U DS:y:COUNTER:20:U:U DS:z:COMPUTE:x,2,* RRA:LAST:0:1:5\n", "0 RRD created OK\n")
	for _, tt := range [][2]string{
		{"1000000010:1", "-1 expected 2 data source readings (got 1) from 1000000010"},
		{"1000000010:1:2:3", "-1 found extra data on update argument: 3"},
		{"1000000010:", "-1 expected 2 data source readings (got 1) from 1000000010"},
		{"1000000010:1:1.5", "-1 not a simple unsigned integer: '1.5'"},
		{"1000000010:1:-1", "-1 not a simple unsigned integer: '-1'"},
		{"1000000010:abc:1", "-1 Function update_pdp_prep, case DST_GAUGE - Cannot convert 'abc' to float"},
		{"1e300:1:1", "-1 time 1000000000000000052504760255204420248704468581108159154915854115111802457988908195786371375080447854045104.000000 is later than a series can hold"},
		{"1000000010:1@2:1", "-1 Cannot find timestamp in '1000000010:1@2:1'!"},
		{"1000000010:1:1 1000000011:" + strings.Repeat("1", 5000) + ":1", "-1 a value of 5000 characters is too long"},
	} {
		got := p.ask("UPDATE a.rrd " + tt[0])
		if strings.HasPrefix(tt[0], "1e300") {
			got = got[:5] + tt[1][5:] + "\n" // a number of 300 digits
		}
		if got != tt[1]+"\n" {
			t.Errorf("%.60s: got %q, want %q", tt[0], got, tt[1])
		}
	}
}

// TestListsOfManySeries: more than are kept while they are counted.
func TestListsOfManySeries(t *testing.T) {
	store := enginetest.Open(t)
	d := fiveArchives(t)
	const series, large = 12_000, 5000 // in a folder that is not passed over one by one
	specs := make([]core.Spec, series)
	for i := range specs {
		folder := i % 50
		if i < large {
			folder = 30
		}
		specs[i] = core.Spec{Path: fmt.Sprintf("folder-%02d/%s%06d.rrd", folder, strings.Repeat("long", 20), i), Definition: d}
	}
	if _, err := store.CreateBatch(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	s := serve(t, rrdcached.Options{Store: store}, 0)
	p := dial(t, s.addr)
	if n := strings.Count(p.ask("LIST RECURSIVE /"), "\n"); n != series+1 {
		t.Errorf("%d lines", n)
	}
	if n := strings.Count(p.ask("LIST /"), "\n"); n != 51 {
		t.Errorf("%d folders", n-1)
	}
	if n := strings.Count(p.ask("LIST /folder-07"), "\n"); n != (series-large)/50+1 {
		t.Errorf("%d lines of a folder", n)
	}
	p.expect("LIST /folder-07/"+filepath.Base(specs[large+7].Path)+"\nLIST /nosuch\n",
		"1 RRDs\n"+filepath.Base(specs[large+7].Path)+"\n-1 List "+s.base+"/nosuch: No such file or directory\n")
}

// TestListEnds: a name of the character that sorts behind all others is listed, and once.
func TestListEnds(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	p := dial(t, s.addr)
	const definition = " DS:x:GAUGE:20:U:U RRA:LAST:0:1:5\n"
	p.expect("CREATE a/\U0010ffff\U0010ffffz"+definition+"CREATE a/b"+definition+"LIST /\nLIST /a\n",
		"0 RRD created OK\n0 RRD created OK\n1 RRDs\na\n2 RRDs\nb\n\U0010ffff\U0010ffffz\n")
}

// TestFetchTogetherAndAlone: requests that are read together have the answers that each has alone.
func TestFetchTogetherAndAlone(t *testing.T) {
	store := enginetest.Open(t)
	names := load(t, store, 300)
	var b core.Batch
	for k := range 40 {
		b.Reset()
		for i, name := range names {
			ref, err := store.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			v := float64(i*k) / 7
			if (i+k)%17 == 0 {
				v = math.NaN()
			}
			b.Add(ref, rra.Seconds(1_700_000_010+int64(k)*10), rra.Float(v))
		}
		if err := store.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, rrdcached.Options{Store: store}, 0)
	p := dial(t, s.addr)
	var requests []string
	for i, name := range names {
		command := "FETCH "
		if i > 200 {
			command = "FETCHBIN "
		}
		r := command + name + " AVERAGE 1700000000 1700000300"
		switch i % 50 {
		case 9:
			r = command + name + " MAX 1600000000 1700000300"
		case 10:
			r += " value"
		case 11:
			r += " nosuch"
		case 12:
			r = command + "nosuch AVERAGE 1700000000 1700000300"
		case 13:
			r = "PING"
		case 14:
			r = command + name + " FAILURES 1700000000 1700000300"
		}
		requests = append(requests, r)
	}
	var want []string
	for _, r := range requests {
		want = append(want, p.ask(r))
	}
	go p.send(strings.Join(requests, "\n") + "\n")
	for i, r := range requests {
		if got := p.answer(); got != want[i] {
			t.Fatalf("%s:\ngot  %.300q\nwant %.300q", r, got, want[i])
		}
	}
}

func TestHeldSamplesAreLetGo(t *testing.T) {
	store := enginetest.OpenDir(t, t.TempDir(), core.Options{Reorder: time.Minute})
	s := serve(t, rrdcached.Options{Store: store, Held: true}, 0)
	p := dial(t, s.addr)
	p.expect("CREATE a.rrd"+definition+"\nUPDATE a.rrd 1000000020:1\nUPDATE a.rrd 1000000010:1\nLAST a.rrd\nFLUSH a.rrd\nLAST a.rrd\n",
		"0 RRD created OK\n0 errors, enqueued 1 value(s).\n0 errors, enqueued 1 value(s).\n0 1000000000\n"+
			"0 Successfully flushed "+s.base+"/a.rrd.\n0 1000000020\n")
}

// TestFlushAllAnswersWhenDone: FLUSHALL was answered when it had begun, so that what was asked next
// came from before.
func TestFlushAllAnswersWhenDone(t *testing.T) {
	store := enginetest.OpenDir(t, t.TempDir(), core.Options{Reorder: time.Minute})
	s := serve(t, rrdcached.Options{Store: store, Held: true}, 0)
	const clients, each = 3, 360 // more series than are let go at once
	var running sync.WaitGroup
	defer running.Wait()
	for i := range clients {
		p := dial(t, s.addr)
		name := func(j int) string { return fmt.Sprintf("%d/%d.rrd", i, j) }
		all := func(answer, format string, args ...any) {
			var requests strings.Builder
			for j := range each {
				fmt.Fprintf(&requests, format+"\n", append([]any{name(j)}, args...)...)
			}
			p.expect(requests.String(), strings.Repeat(answer, each))
		}
		all("0 RRD created OK\n", "CREATE %s%s", definition)
		running.Go(func() {
			for at := 1_000_000_010; at < 1_000_000_050; at += 10 {
				all("0 errors, enqueued 1 value(s).\n", "UPDATE %s %d:1", at)
				p.expect("FLUSHALL\n", "0 Started flush.\n")
				last := fmt.Sprintf("0 %d\n", at)
				p.expect(fmt.Sprintf("LAST %s\nLAST %s\nLAST %s\n", name(each-1), name(0), name(each/2)), last+last+last)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	for _, tt := range []struct {
		text string
		want rrdcached.Address
		bad  bool
	}{
		{text: "unix:/run/x.sock", want: rrdcached.Address{Network: "unix", Addr: "/run/x.sock"}},
		{text: "/run/x.sock?mode=0640&group=0", want: rrdcached.Address{Network: "unix", Addr: "/run/x.sock", Mode: 0o640, Group: "0"}},
		{text: "localhost", want: rrdcached.Address{Network: "tcp", Addr: "localhost:42217"}},
		{text: "10.0.0.1:99", want: rrdcached.Address{Network: "tcp", Addr: "10.0.0.1:99"}},
		{text: "[::1]", want: rrdcached.Address{Network: "tcp", Addr: "[::1]:42217"}},
		{text: "[::1]:7", want: rrdcached.Address{Network: "tcp", Addr: "[::1]:7"}},
		{text: "::1", want: rrdcached.Address{Network: "tcp", Addr: "[::1]:42217"}},
		{text: "", bad: true},
		{text: "unix:", bad: true},
		{text: "a:b:c", bad: true},
		{text: "localhost?mode=0660", bad: true},
		{text: "/x?mode=9", bad: true},
		{text: "/x?mode=01777", bad: true},
		{text: "/x?group=nosuchgroup", bad: true},
		{text: "/x?allow=FOO", bad: true},
		{text: "/x?permissions=x", bad: true},
	} {
		got, err := rrdcached.ParseAddress(tt.text)
		if (err != nil) != tt.bad || err == nil && got != tt.want {
			t.Errorf("%q: got %+v, %v", tt.text, got, err)
		}
	}
	a, err := rrdcached.ParseAddress("localhost?allow=UPDATE+flush,PING BATCH")
	if b, e := rrdcached.ParseCommands("BATCH PING FLUSH UPDATE"); err != nil || e != nil || a.Allow != b || b == 0 {
		t.Errorf("allowed %v and %v: %v %v", a.Allow, b, err, e)
	}
}

func TestSockets(t *testing.T) {
	name := filepath.Join(shortDir(t), "s")
	l, err := rrdcached.Listen(rrdcached.Address{Network: "unix", Addr: name, Mode: 0o620, Group: fmt.Sprint(os.Getgid())})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o620 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := rrdcached.Listen(rrdcached.Address{Network: "unix", Addr: name}); err == nil {
		t.Error("a socket was taken from who listens there")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("the socket stays: %v", err)
	}
	// One that a killed server left behind.
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = rrdcached.Listen(rrdcached.Address{Network: "unix", Addr: name}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := rrdcached.Listen(rrdcached.Address{Network: "unix", Addr: name}); err == nil {
		t.Error("a file was replaced by a socket")
	}
}

func TestStats(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	p := dial(t, s.addr)
	p.expect("CREATE a.rrd"+definition+"\nUPDATE a.rrd 1000000010:1\nUPDATE a.rrd 1000000010:1\nFOO\n", "0 RRD created OK\n0 errors, enqueued 1 value(s).\n"+
		"-1 illegal attempt to update using time 1000000010.000000 when last update time is 1000000010.000000 (minimum one second step)\n-1 Unknown command: FOO\n")
	if got := p.ask("STATS"); !strings.Contains(got, "\nUpdatesReceived: 2\n") || !strings.Contains(got, "\nDataSetsWritten: 1\n") || !strings.Contains(got, "\nTreeNodesNumber: 1\n") {
		t.Error(got)
	}
	st := s.Stats()
	by := make(map[string][2]uint64)
	for i, name := range rrdcached.CommandNames() {
		if st.Requests[i] > 0 {
			by[name] = [2]uint64{st.Requests[i], st.Errors[i]}
		}
	}
	want := map[string][2]uint64{"CREATE": {1, 0}, "UPDATE": {2, 1}, "STATS": {1, 0}}
	if diff := cmp.Diff(want, by); diff != "" || st.Unknown != 1 || st.Connections != 1 || st.Samples != 2 || st.Names != 1 {
		t.Errorf("got %+v\n%s", st, diff)
	}
}

// TestNamesAreBounded: a client that spells one name in ever new ways has not all of them
// remembered.
func TestNamesAreBounded(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	p := dial(t, s.addr)
	p.expect("CREATE a.rrd"+definition+"\n", "0 RRD created OK\n")
	const spellings = 25_000
	most := 0
	for i := range spellings / 100 {
		var b strings.Builder
		for j := range 100 {
			n := i*100 + j
			fmt.Fprintf(&b, "FLUSH %sa.rrd\n", strings.NewReplacer("0", "./", "1", ".//").Replace(fmt.Sprintf("%b", n+1<<16)))
		}
		p.send(b.String())
		for range 100 {
			if got := p.line(); !strings.HasPrefix(got, "0 ") {
				t.Fatal(got)
			}
		}
		most = max(most, s.Stats().Names)
	}
	if most < 9000 || most > 12_000 {
		t.Errorf("%d names remembered of one series", most)
	}
}
