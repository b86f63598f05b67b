package rra_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/rra"
)

// Nothing bounded what one short definition could ask for: a state of 128 MiB, 4,000 billion rows,
// 20,000 data sources that were compared with each other before they were counted.
func TestLimitsOfDefinition(t *testing.T) {
	repeat := func(n int, form string) (args []string) {
		for i := range n {
			args = append(args, fmt.Sprintf(form, i))
		}
		return args
	}
	const ds, row = "DS:v%d:GAUGE:60:U:U", "RRA:AVERAGE:0.5:%[1]d1:10"
	one := []string{"DS:v:GAUGE:60:U:U"}
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"most sources", append(repeat(rra.MaxSources, ds), "RRA:LAST:0.5:1:10"), ""},
		{"sources", append(repeat(rra.MaxSources+1, ds), "RRA:LAST:0.5:1:10"), "ds: 4097 data sources, at most 4096 are possible"},
		{"most archives", append(repeat(rra.MaxArchives, row), one...), ""},
		{"archives", append(repeat(rra.MaxArchives+1, row), one...), "rra: 257 archives, at most 256 are possible"},
		{"columns", append(repeat(17, row), repeat(4096, ds)...), "rra: 17 archives of 4096 data sources are 69632 columns, at most 65536 are possible"},
		{"computes", append(append(one, repeat(rra.MaxComputes+1, "DS:c%d:COMPUTE:v,1,+")...), "RRA:LAST:0.5:1:10"), "ds: 257 COMPUTE data sources, at most 256 are possible"},
		{"most rows", append(one, "RRA:LAST:0.5:1:1000000000"), ""},
		{"values", append(one, "RRA:LAST:0.5:1:999999999", "RRA:LAST:0.5:2:2"), "rra: 1000000001 values (rows times data sources of all archives), at most 1000000000 are possible"},
		{"values of sources", append(repeat(11, ds), "RRA:LAST:0.5:1:100000000"), "rra: 1100000000 values (rows times data sources of all archives), at most 1000000000 are possible"},
		{"most of a season", append(one, "RRA:HWPREDICT:300000:0.1:0.1:262100"), ""},
		{"season", append(one, "RRA:HWPREDICT:300000:0.1:0.1:262145"), "rra: a state of 4194320 bytes, most of them rows of SEASONAL and DEVSEASONAL archives, at most 4194304 are possible"},
		{"expression", append(one, "DS:c:COMPUTE:v,"+strings.Repeat("0", rra.MaxExpression)+",+", "RRA:LAST:0.5:1:10"), "failed to parse computed data source"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := rra.ParseDefinition(1, tt.args)
			if err == nil {
				_, err = rra.Compile(d)
			}
			switch field := new(rra.FieldError); {
			case tt.want == "" && err != nil:
				t.Fatal(err)
			case tt.want != "" && (err == nil || err.Error() != tt.want):
				t.Fatalf("got %v, want %s", err, tt.want)
			case tt.want != "" && !errors.As(err, &field) && tt.name != "expression":
				t.Fatalf("got a %T", err)
			}
		})
	}
}

func TestLimitsOfNames(t *testing.T) {
	d := &rra.Definition{
		Step: 1, Sources: []rra.DataSource{{Name: strings.Repeat("n", rra.MaxName+1), Heartbeat: 1}},
		Archives: []rra.Archive{{PDPs: 1, Rows: 1}},
	}
	if _, err := rra.Compile(d); err == nil || err.Error() != "ds[0].name: is 256 bytes long, at most 255 are possible" {
		t.Errorf("a long name: %v", err)
	}
	d.Sources[0] = rra.DataSource{Name: "c", Kind: rra.Compute, Expr: strings.Repeat("1", rra.MaxExpression+1)}
	if _, err := rra.Compile(d); err == nil || err.Error() != "ds[0].expr: is 4097 bytes long, at most 4096 are possible" {
		t.Errorf("a long expression: %v", err)
	}
}
