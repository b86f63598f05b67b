package clustermodel

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"
)

// run simulates a cluster, which fails if what goes in does not come out.
func run(t *testing.T, cfg Config, times Times) Result {
	t.Helper()
	r, err := Run(cfg, times)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// short is a cluster of one machine for a few seconds.
func short(partitions int) Config {
	cfg := OneMachine(2, partitions)
	cfg.Seconds = 4
	return cfg
}

// TestNothingIsLost: all samples are acknowledged, and applied by each replica, in clusters of many
// shapes. Run compares the counts.
func TestNothingIsLost(t *testing.T) {
	times := storedTimes(t)
	for name, change := range map[string]func(*Config){
		"plain":              func(*Config) {},
		"one replica":        func(c *Config) { c.Replicas = 1 },
		"one node":           func(c *Config) { c.Nodes, c.Replicas = 1, 1 },
		"all nodes":          func(c *Config) { c.Nodes, c.Replicas, c.Partitions = 5, 5, 7 },
		"small batches":      func(c *Config) { c.Batch = 3 },
		"one batch":          func(c *Config) { c.Under, c.Senders = 1, 1 },
		"uneven":             func(c *Config) { c.Batch, c.Under, c.Partitions = 4999, 67, 13 },
		"half a core":        func(c *Config) { c.Cores = 0.5 },
		"machines":           func(c *Config) { c.Machine, c.Nodes, c.Servers, c.InNodes = 4, 4, 5, true },
		"too many to take":   func(c *Config) { c.Rate = 20e6 },
		"paced":              func(c *Config) { c.Rate = 1e6 },
		"more than its half": func(c *Config) { c.Rate, c.Large = 1e6, true },
	} {
		cfg := short(16)
		change(&cfg)
		if r := run(t, cfg, times); r.sent == 0 || r.Rate == 0 || r.AckP50 <= 0 || r.AckP99 < r.AckP50 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestLittle: batches under way are the rate times how long one takes (Little's law). Here all take
// about the same time, so that half of them show the mean.
func TestLittle(t *testing.T) {
	times, err := storedTimes(t).With([]byte(`[{"name":"stall_share","value":0}]`))
	if err != nil {
		t.Fatal(err)
	}
	cfg := short(16)
	r := run(t, cfg, times)
	under := r.Rate / float64(cfg.Batch) * r.AckP50
	if under < 0.75*float64(cfg.Under) || under > 1.05*float64(cfg.Under) {
		t.Errorf("%.1f batches are under way, want nearly %d", under, cfg.Under)
	}
}

// TestProcessorTime: a machine with two cores cannot do more than two seconds of work a second, and
// at full speed does nearly as much.
func TestProcessorTime(t *testing.T) {
	r := run(t, short(3), storedTimes(t))
	used := (r.Nodes + r.Servers + r.Driver) * r.Rate / 1e6
	if used > 2.1 || used < 1.7 || math.Abs(used/2-r.Busy[0].Share) > 0.05 {
		t.Errorf("%.2f cores are used, and the cores are busy for %.2f of the time", used, r.Busy[0].Share)
	}
	if !strings.HasPrefix(r.Bottleneck, "cores") {
		t.Errorf("the bottleneck is %s", r.Bottleneck)
	}
}

// TestBottlenecks: what is slow is named.
func TestBottlenecks(t *testing.T) {
	times := storedTimes(t)
	with := func(file string) Times {
		t.Helper()
		x, err := times.With([]byte(file))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	many, one, paced := short(16), short(3), short(3)
	many.Cores = 64
	one.Cores, one.Under, one.Senders = 64, 1, 1
	paced.Rate = 1e5
	for _, x := range []struct {
		cfg  Config
		file string
		want string
	}{
		{short(3), "[]", "cores of machine 1"},
		{many, `[{"name":"sync","value":0.01}]`, "disk of machine 1"},
		{many, `[{"name":"network","value":0.1},{"name":"stall_share","value":0}]`, "message under way"},
		{one, `[{"name":"stall_share","value":0}]`, "batches under way"},
		{paced, `[]`, "none"},
	} {
		if r := run(t, x.cfg, with(x.file)); !strings.HasPrefix(r.Bottleneck, x.want) {
			t.Errorf("%s: the bottleneck is %q, want %q: %+v", x.file, r.Bottleneck, x.want, r.Busy)
		}
	}
}

// TestMore: more of something does not make it worse, or better.
func TestMore(t *testing.T) {
	times := storedTimes(t)
	rate := func(change func(*Config)) float64 {
		cfg := short(6)
		change(&cfg)
		return run(t, cfg, times).Rate
	}
	const same = 1.03 // chance
	plain := rate(func(*Config) {})
	if more := rate(func(c *Config) { c.Cores = 4 }); more < 1.5*plain {
		t.Errorf("4 cores take %.0f samples a second, 2 take %.0f", more, plain)
	}
	if more := rate(func(c *Config) { c.Batch = 20000 }); more*same < plain {
		t.Errorf("large batches: %.0f samples a second, small ones: %.0f", more, plain)
	}
	if less := rate(func(c *Config) { c.Under = 8 }); less > plain*same {
		t.Errorf("few batches under way: %.0f samples a second, many: %.0f", less, plain)
	}
	if less := rate(func(c *Config) { c.Replicas = 3 }); less > 0.95*plain {
		t.Errorf("three replicas: %.0f samples a second, two: %.0f", less, plain)
	}
	if less := rate(func(c *Config) { c.Partitions = 48 }); less > 0.8*plain {
		t.Errorf("48 partitions: %.0f samples a second, 6: %.0f", less, plain)
	}
	slow := short(6)
	slow.Rate = plain / 4
	fast := slow
	fast.Rate = plain * 0.9
	if a, b := run(t, slow, times), run(t, fast, times); a.AckP50 > b.AckP50 || a.LagP99 > 2*b.LagP99 {
		t.Errorf("a quarter of the rate is acknowledged after %v, nine tenths after %v", a.AckP50, b.AckP50)
	}
}

// TestSeedRepeats: the same seed gives the same figures.
func TestSeedRepeats(t *testing.T) {
	times := storedTimes(t)
	cfg := short(5)
	a, b := run(t, cfg, times), run(t, cfg, times)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%+v and then %+v", a, b)
	}
	cfg.Seed++
	if c := run(t, cfg, times); c.AckP99 == a.AckP99 && c.LagP99 == a.LagP99 {
		t.Error("another seed gives the same figures")
	}
}

// TestMeasured: what was measured on a quiet machine, and what the model gives. The times were
// fitted to the run with 16 partitions.
func TestMeasured(t *testing.T) {
	const within = 0.20
	times := storedTimes(t)
	predicted := 0
	measured := AllMeasured()
	for i := range measured {
		all, err := Compare(&measured[i], times)
		if err != nil {
			t.Fatal(err)
		}
		for k := range all {
			d := &all[k]
			if !d.Fitted {
				predicted++
			}
			if math.Abs(d.Off()) > within {
				t.Errorf("%s, %s load, %s: measured %v, the model gives %v", measured[i].Name, d.Load, d.What, d.Mean(), d.Model)
			}
		}
	}
	if predicted < 6 {
		t.Errorf("only %d figures are predicted", predicted)
	}
}

// TestSizes: larger clusters take more, and no machine is too busy.
func TestSizes(t *testing.T) {
	all, err := Sizes(storedTimes(t))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range all {
		if s.Rate*seriesStep != s.Series || s.NodeCores+s.ServerCores > mostBusy*1.1*s.Cores*float64(s.Machines) {
			t.Errorf("%+v", s)
		}
		if i > 0 && (s.Series < all[i-1].Series || s.Memory < all[i-1].Memory) {
			t.Errorf("%s is smaller than %s", s.Name, all[i-1].Name)
		}
	}
	var b bytes.Buffer
	if err := WriteSizes(&b, all); err != nil || strings.Count(b.String(), "\n") != len(all)+1 {
		t.Errorf("%v:\n%s", err, &b)
	}
}

func TestValidate(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"cores":      func(c *Config) { c.Cores = 0 },
		"NaN":        func(c *Config) { c.Rate = math.NaN() },
		"machines":   func(c *Config) { c.Machine = 0 },
		"replicas":   func(c *Config) { c.Replicas = 4 },
		"servers":    func(c *Config) { c.Servers = 2 },
		"partitions": func(c *Config) { c.Partitions = maxPartitions + 1 },
		"senders":    func(c *Config) { c.Senders = c.Under + 1 },
		"seconds":    func(c *Config) { c.Seconds = 0 },
	} {
		cfg := short(3)
		change(&cfg)
		if _, err := Run(cfg, storedTimes(t)); err == nil {
			t.Errorf("%s: %+v was simulated", name, cfg)
		}
	}
}
