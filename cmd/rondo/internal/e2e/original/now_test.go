package original

import (
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// present updates a series at the present. Its own end lies years back, so that all the time
// between is unknown, and the part of a second that the two programs are apart is in no number.
// From then on the script does not know the end of the series: it makes no more samples that would
// be taken.
func (s *script) present(f *file) {
	if f.recent {
		return
	}
	s.exact = true
	defer func() { s.exact = false }()
	args := []string{s.named(f)}
	if s.one(3) {
		f.last += f.step
		args = append(args, s.at(number(f.last), f))
	}
	s.say(s.pick("update", "updatev"), s.maybe(4, s.flag('s', "skip-past-updates")), append(args, s.at("N", f))...)
	f.recent = true
	for _, verb := range []string{"last", "lastupdate", "info"} {
		s.add(verb, f.name)
	}
	s.add("dump", f.name)
}

// at is a sample of all data sources that take one.
func (s *script) at(when string, f *file) string {
	for i := range f.ds {
		if f.ds[i].kind != "COMPUTE" {
			when += ":" + s.reading(&f.ds[i])
		}
	}
	return when
}

// asksTime says whether a command does something at the present: a sample at N, a series that
// begins at no time that is given.
func asksTime(args []string) bool {
	switch args[0] {
	case "update", "updatev":
		return slices.ContainsFunc(args[1:], func(a string) bool { return strings.HasPrefix(a, "N:") })
	case "create":
		return !slices.ContainsFunc(rrdtool.OptionsIn(args), func(o string) bool { return o == "start" || o == "template" || o == "source" })
	}
	return false
}

// early waits until a second has just begun, so that both programs can run in it, and returns it.
func early() int64 {
	now := time.Now()
	if part := now.Nanosecond(); part < 10e6 || part > 200e6 { // the coarse clock of time() may be late
		time.Sleep(now.Truncate(time.Second).Add(time.Second + 10*time.Millisecond).Sub(now))
	}
	return time.Now().Unix()
}

// turned is the failure of a comparison that says nothing: the second changed while the programs
// asked for it.
const turned = "the second has turned"
