package sizebench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	values "reflect"
	"testing"

	"github.com/rondo-db/rondo/internal/enginebench"
)

// childOrder is the variable that makes the test binary a child of Measure.
const childOrder = "RONDO_BENCH_ORDER"

func TestMain(m *testing.M) {
	if order := os.Getenv(childOrder); order != "" {
		if err := Child(context.Background(), order, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestSizesAreMeasured(t *testing.T) {
	c := enginebench.Config{Layout: enginebench.Layout{Archives: 5, Sources: 1}, Readings: 7, Appenders: 4, Depth: 3, Seed: 5}
	c.Options.CheckpointBytes = 1 << 18
	for _, c.Series = range []int{100, 400} {
		c.Dir = t.TempDir()
		s, err := Measure(t.Context(), c, func(ctx context.Context, arg string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, os.Args[0])
			cmd.Env = append(os.Environ(), childOrder+"="+arg)
			return cmd
		})
		if err != nil {
			t.Fatal(err)
		}
		if s.Series != c.Series || s.Samples != 7*c.Series {
			t.Errorf("%d samples of %d series, want %d of %d", s.Samples, s.Series, 7*c.Series, c.Series)
		}
		for v, i := values.ValueOf(s), 0; i < v.NumField(); i++ {
			if v.Field(i).IsZero() {
				t.Errorf("%s is not measured", v.Type().Field(i).Name)
			}
		}
	}
}
