package rrdcached_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/rra"
)

// TestSeen shows that a client of a unix socket which names a file in full finds one there, and
// that a series is kept whose file it does not see.
func TestSeen(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	p := dial(t, s.addr)
	const definition = " -b 1000000000 -s 10 DS:v:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10\n"
	name := s.base + "/web 1/load.rrd"
	create := "CREATE " + s.base + "/web\\ 1/load.rrd" + definition
	update := "UPDATE " + s.base + "/web\\ 1/load.rrd "
	if err := os.Mkdir(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	exists := func(name string) bool {
		info, err := os.Lstat(name)
		return err == nil && info.Size() > 0
	}
	p.expect(create+update+"1000000010:1\n", "0 RRD created OK\n0 errors, enqueued 1 value(s).\n")
	if !exists(name) {
		t.Error("there is no file")
	}
	p.expect(create+update+"1000000010:1\n", "0 RRD created OK\n0 errors, enqueued 1 value(s).\n") // made anew
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	p.expect(create+"LAST web\\ 1/load.rrd\n", "0 RRD created OK\n0 1000000000\n") // who removes the file wants another series
	if !exists(name) {
		t.Error("there is no file for a series that was made anew")
	}
	// A series that never had a file is kept: the client does not know that there is one.
	d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Create(t.Context(), core.Spec{Path: "web 1/fileless.rrd", Definition: d, Start: rra.Seconds(1_000_000_050)}); err != nil {
		t.Fatal(err)
	}
	p.expect("CREATE "+s.base+"/web\\ 1/fileless.rrd"+definition+"LAST web\\ 1/fileless.rrd\n", "0 RRD created OK\n0 1000000050\n")
	if !exists(s.base + "/web 1/fileless.rrd") {
		t.Error("there is no file for a series that was kept")
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	p.expect("CREATE "+s.base+"/web\\ 1/load.rrd -b 1000000000 -s 20 DS:v:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10\nLAST web\\ 1/load.rrd\n",
		"0 RRD created OK\n0 1000000000\n") // another one
	p.expect("CREATE "+s.base+"/web\\ 1/load.rrd -O"+definition, "-1 RRD Error: creating '"+name+"': File exists\n")

	// Nothing is put where no folder is, outside the base, or for a name that is not given in full.
	if err := os.Symlink(t.TempDir(), filepath.Join(s.base, "out")); err != nil {
		t.Fatal(err)
	}
	p.expect("CREATE "+s.base+"/none/load.rrd"+definition+"CREATE relative.rrd"+definition+"CREATE "+s.base+"/out/load.rrd"+definition,
		"0 RRD created OK\n0 RRD created OK\n0 RRD created OK\n")
	for _, name := range []string{"none", "relative.rrd", "out/load.rrd"} {
		if exists(filepath.Join(s.base, name)) {
			t.Errorf("there is %s", name)
		}
	}
}
