package influx_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers/influx"
	"github.com/rondo-db/rondo/rra"
)

// decode returns what a decoder makes of input: one text for each line or error.
func decode(input string, unit influx.Unit) (got []string) {
	var d influx.Decoder
	d.Reset([]byte(input), unit, true)
	for {
		var l influx.Line
		more, err := d.Next(&l)
		switch {
		case err != nil:
			got = append(got, err.Error())
			continue
		case !more:
			return got
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s|", l.Key)
		for _, f := range l.Fields {
			fmt.Fprintf(&b, "%s=%s|", f.Name, number(f))
		}
		if l.Timed {
			fmt.Fprint(&b, int64(l.Time))
		}
		got = append(got, b.String())
	}
}

func number(f influx.Field) string {
	switch {
	case f.Text:
		return "text"
	case f.Value.Tag == rra.TagFloat:
		return fmt.Sprint(math.Float64frombits(f.Value.Bits))
	case f.Value.Tag == rra.TagUint:
		return fmt.Sprintf("%du", f.Value.Bits)
	}
	return fmt.Sprintf("%di", int64(f.Value.Bits))
}

// TestDecode: lines are read as InfluxDB reads them, and what is wrong is reported in its words.
func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		input string
		want  []string
	}{
		{"a b=1", []string{"a|b=1|"}},
		{"a b=1 1700000000123456789\n", []string{"a|b=1|1700000000123456"}},
		{"a,t=u,v=w b=1.5,c=-2e3,d=.5,e=1.,f=-0.25 -5000", []string{"a,t=u,v=w|b=1.5|c=-2000|d=0.5|e=1|f=-0.25|-5"}},
		{"a b=0.1,c=123456789.123456789,d=1234567890123456789012345", []string{"a|b=0.1|c=1.2345678912345679e+08|d=1.2345678901234568e+24|"}},
		{"a b=9007199254740993,c=0.000000000000000000000001", []string{"a|b=9.007199254740992e+15|c=1e-24|"}},
		{"a b=9223372036854775807i,c=-9223372036854775808i,d=18446744073709551615u,e=007i", []string{
			"a|b=9223372036854775807i|c=-9223372036854775808i|d=18446744073709551615u|e=7i|",
		}},
		{"a b=t,c=T,d=true,e=True,f=TRUE,g=f,h=F,i=false,j=False,k=FALSE", []string{
			"a|b=1i|c=1i|d=1i|e=1i|f=1i|g=0i|h=0i|i=0i|j=0i|k=0i|",
		}},
		{`a b="x",c="a \" , = b",d=1`, []string{"a|b=text|c=text|d=1|"}},
		{"a b=\"two\nlines\",c=1 5000\nd e=2", []string{"a|b=text|c=1|5", "d|e=2|"}},
		{`a\ b\,c,t\ \,\=1=u\ v b\ \,\=c=1`, []string{`a\ b\,c,t\ \,\=1=u\ v|b\ \,\=c=1|`}},
		{"\n\r\n # comment\n\t a   b=1   7000  \r\n", []string{"a|b=1|7"}},
		{"a b=1\nbad\nc d=2", []string{"a|b=1|", "unable to parse 'bad': missing fields", "c|d=2|"}},
		{"a ", []string{"unable to parse 'a ': missing fields"}},
		{"a b", []string{"unable to parse 'a b': invalid field format"}},
		{"a b=", []string{"unable to parse 'a b=': missing field value"}},
		{"a =1", []string{"unable to parse 'a =1': missing field key"}},
		{"a b=1,", []string{"unable to parse 'a b=1,': missing field key"}},
		{"a b=1 x", []string{"unable to parse 'a b=1 x': bad timestamp"}},
		{"a b=1 1 2", []string{"unable to parse 'a b=1 1 2': bad timestamp"}},
		{"a b=1 9223372036854775808", []string{"unable to parse 'a b=1 9223372036854775808': bad timestamp"}},
		{"a b=x", []string{"unable to parse 'a b=x': invalid number"}},
		{"a b=1x", []string{"unable to parse 'a b=1x': invalid number"}},
		{"a b=1e999", []string{"unable to parse 'a b=1e999': invalid number"}},
		{"a b=Inf,c=NaN", []string{"unable to parse 'a b=Inf,c=NaN': invalid number"}},
		{"a b=0x10", []string{"unable to parse 'a b=0x10': invalid number"}},
		{"a b=1_000", []string{"unable to parse 'a b=1_000': invalid number"}},
		{"a b=9223372036854775808i", []string{"unable to parse 'a b=9223372036854775808i': invalid number"}},
		{"a b=1.5i", []string{"unable to parse 'a b=1.5i': invalid number"}},
		{"a b=-1u", []string{"unable to parse 'a b=-1u': invalid number"}},
		{"a b=truth", []string{"unable to parse 'a b=truth': invalid boolean"}},
		{"a b=\"x\nc d=2", []string{"unable to parse 'a b=\"x\nc d=2': unbalanced quotes"}},
		{"a b=\xff", []string{"unable to parse 'a b=\uFFFD': invalid number"}},
	} {
		if diff := cmp.Diff(tt.want, decode(tt.input, influx.Nanoseconds)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.input, diff)
		}
	}
}

// TestUnits: times are read in each unit, and those that no time can hold are refused.
func TestUnits(t *testing.T) {
	for unit, want := range map[influx.Unit]string{
		influx.Nanoseconds: "a|b=1|1", influx.Microseconds: "a|b=1|1234", influx.Milliseconds: "a|b=1|1234000",
		influx.Seconds: "a|b=1|1234000000", influx.Minutes: "a|b=1|74040000000", influx.Hours: "a|b=1|4442400000000",
	} {
		if diff := cmp.Diff([]string{want}, decode("a b=1 1234", unit)); diff != "" {
			t.Errorf("%d (-want +got):\n%s", unit, diff)
		}
		if got := decode("a b=1 9223372036854775807", unit); unit > influx.Microseconds && !strings.HasSuffix(got[0], "bad timestamp") {
			t.Errorf("%d: %q", unit, got)
		}
	}
}

// TestParts: an input in two parts, cut anywhere, gives what it gives as a whole.
func TestParts(t *testing.T) {
	input := "a,t=u b=1,c=\"x\ny\" 5000\nbad\n\nc d=2\n"
	want := decode(input, influx.Nanoseconds)
	for cut := range len(input) {
		var d influx.Decoder
		d.Reset([]byte(input[:cut]), influx.Nanoseconds, false)
		n := 0
		var l influx.Line
		for more, err := d.Next(&l); more; more, err = d.Next(&l) {
			if bad := err != nil; bad != strings.HasPrefix(want[n], "unable") {
				t.Errorf("cut at %d: %v, want %q", cut, err, want[n])
			}
			n++
		}
		got := append(want[:n:n], decode(string(d.Rest())+input[cut:], influx.Nanoseconds)...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cut at %d (-want +got):\n%s", cut, diff)
		}
	}
}

// TestLimits: what is longer than a limit is refused by name, and the lines behind it are read.
func TestLimits(t *testing.T) {
	for what, line := range map[string]string{
		"line is too long":                  "a b=\"" + strings.Repeat("x", influx.MaxLine) + "\"",
		"measurement and tags are too long": strings.Repeat("a", influx.MaxKey+1) + " b=1",
		"name of a field is too long":       "a " + strings.Repeat("b", influx.MaxName+1) + "=1",
		"too many fields":                   "a b=1" + strings.Repeat(",b=1", influx.MaxFields),
	} {
		var d influx.Decoder
		d.Reset([]byte(line+"\nc d=2"), influx.Nanoseconds, true)
		var l influx.Line
		_, err := d.Next(&l)
		var e *influx.Error
		if !errors.As(err, &e) || e.What != what || len(e.Error()) > 400 {
			t.Errorf("%v, want %q", err, what)
		}
		if more, err := d.Next(&l); !more || err != nil || string(l.Key) != "c" {
			t.Errorf("%s: behind it %t, %v, %q", what, more, err, l.Key)
		}
	}
}

// FuzzDecode: no input does harm, and each line alone gives what it gives among others.
func FuzzDecode(f *testing.F) {
	for _, g := range garbage {
		f.Add(g)
	}
	f.Add([]byte("a,t=u\\ v b=1,c=2i,d=3u,e=t,f=\"x\ny\" 1700000000000000000\n# no\n\nb c=.5e-3 1"))
	f.Fuzz(func(t *testing.T, input []byte) {
		var d influx.Decoder
		d.Reset(input, influx.Nanoseconds, true)
		var l influx.Line
		for more, err := d.Next(&l); more; more, err = d.Next(&l) {
			if err != nil {
				continue
			}
			k, err := influx.ParseKey(l.Key)
			if err != nil {
				continue
			}
			for _, field := range l.Fields {
				if !field.Text && field.Value.Tag == rra.TagFloat && math.IsInf(math.Float64frombits(field.Value.Bits), 0) {
					t.Errorf("%q: not finite", input)
				}
				id := influx.Identify(k, string(field.Name))
				if len(id.Path) > 1100 || !strings.HasPrefix(id.Path, "influx/") || len(id.Labels) == 0 {
					t.Errorf("%q: %+v", input, id)
				}
			}
		}
	})
}
