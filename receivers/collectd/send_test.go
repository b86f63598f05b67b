package collectd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/rra"
)

// TestParseSent: identifiers and values as people type them.
func TestParseSent(t *testing.T) {
	types := StandardTypes()
	long := strings.Repeat("x", nameBytes)
	for _, test := range []struct{ kind, id, values, want string }{
		{"", "h/load/load", "0.5:0.25:U", `"h" "load" "" "load" "" 1:0.5 1:0.25 1:U`},
		{"", "h/interface-eth0-1/if_octets", "18446744073709551615:2", `value "18446744073709551615": no integer of 64 bits, as DERIVE asks for`},
		{"", "h/interface-eth0-1/if_octets", "-1:2", `"h" "interface" "eth0-1" "if_octets" "" 2:-1 2:2`},
		{"counter", "h/a/b-c-d", "18446744073709551615", `"h" "a" "" "b" "c-d" 0:18446744073709551615`},
		{"Absolute", "h/a/b", "1:2:3", `"h" "a" "" "b" "" 3:1 3:2 3:3`},
		{"", "h/a/nosuch", "1e3:inf", `"h" "a" "" "nosuch" "" 1:1000 1:U`},
		{"gauge", "h/interface/if_octets", "1", `"h" "interface" "" "if_octets" "" 1:1`},
		{"", "h/interface/if_octets", "1", `type "if_octets" has 2 values, not 1`},
		{"", "h/a/gauge", "", `value "": no number, nor U`},
		{"derive", "h/a/gauge", "1.5", `value "1.5": no integer of 64 bits, as DERIVE asks for`},
		{"counter", "h/a/gauge", "-1", `value "-1": no integer of 64 bits without a sign, as COUNTER and ABSOLUTE ask for`},
		{"rate", "h/a/gauge", "1", `kind "rate" is not counter, gauge, derive or absolute`},
		{"", "h/a", "1", `want HOST/PLUGIN[-INSTANCE]/TYPE[-INSTANCE]`},
		{"", "h/a/b/c", "1", `want HOST/PLUGIN[-INSTANCE]/TYPE[-INSTANCE]`},
		{"", "/a/b", "1", `the host is empty`},
		{"", "h/-a/b", "1", `the plugin is empty`},
		{"", "h/a/", "1", `the type is empty`},
		{"", "h/a/b-x\x00", "1", `the type instance has a NUL in it`},
		{"", long + "/a/b", "1", fmt.Sprintf(`"%s" "a" "" "b" "" 1:1`, long)},
		{"", long + "x/a/b", "1", `the host has 128 bytes, 127 is the most`},
	} {
		var v ValueList
		err := v.ParseIdentifier(test.id)
		if err == nil {
			err = v.ParseValues(types, test.kind, test.values)
		}
		got := fmt.Sprintf("%q %q %q %q %q", v.Host, v.Plugin, v.PluginInstance, v.Type, v.TypeInstance)
		for i := range v.Kinds {
			got += fmt.Sprintf(" %d:%s", v.Kinds[i], rra.FormatReading(v.Value(i), nil))
		}
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s %s=%s is\n%s, want\n%s", test.kind, test.id, test.values, got, test.want)
		}
	}
}

func TestParseNotification(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"warning:a: b", "warning a: b"},
		{"FAILURE:x", "failure x"},
		{"okay:x", "okay x"},
		{"okay", "want SEVERITY:MESSAGE"},
		{"bad:x", `severity "bad" is not failure, warning or okay`},
		{"okay:", "the message is empty"},
		{"okay:a\x00", "the message has a NUL in it"},
		{"okay:" + strings.Repeat("x", messageBytes+1), "the message has 256 bytes, 255 is the most"},
	} {
		var n Notification
		got := ""
		if err := n.ParseNotification(test.text); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprintf("%v %s", n.Severity, n.Message)
		}
		if got != test.want {
			t.Errorf("%q is %q, want %q", test.text, got, test.want)
		}
	}
}

// TestAppendPackets: what does not fit into one packet goes into several, and each is protected.
func TestAppendPackets(t *testing.T) {
	var lists []ValueList
	for i := range 200 {
		v := ValueList{Names: Names{Host: []byte("h"), Plugin: []byte("p"), Type: []byte("gauge"), TypeInstance: fmt.Append(nil, i)}, Time: epoch, Interval: 10 << 30}
		v.AddGauge(float64(i))
		lists = append(lists, v)
	}
	notes := []Notification{{Names: Names{Host: []byte("h")}, Time: epoch, Severity: Okay, Message: []byte(strings.Repeat("x", messageBytes))}}
	users := ParseUsers("alice: secret")
	for level := range Encrypt + 1 {
		p := Protection{Level: level, User: "alice", Password: "secret"}
		packets, err := p.AppendPackets(nil, lists, notes)
		if err != nil {
			t.Fatal(err)
		}
		var got Packet
		for _, b := range packets {
			if len(b) > DefaultPacketBytes {
				t.Errorf("%v: packet of %d bytes", level, len(b))
			}
			if err := (&Decoder{Level: level, Users: users}).Parse(&got, b); err != nil {
				t.Errorf("%v: %v", level, err)
			}
		}
		want := Packet{Lists: lists, Notes: notes}
		if diff := cmp.Diff(texts(&want), texts(&got)); diff != "" || len(packets) < 4 || got.Dropped != nil {
			t.Errorf("%v: %d packets, dropped %v (-want +got):\n%s", level, len(packets), got.Dropped, diff)
		}
	}
	big := ValueList{Names: Names{Host: []byte("h"), Plugin: []byte("p"), Type: []byte("gauge")}, Time: epoch}
	for range 200 {
		big.AddGauge(1)
	}
	if _, err := new(Protection).AppendPackets(nil, []ValueList{lists[0], big}, nil); err == nil {
		t.Error("a list longer than a packet is no error")
	}
	if packets, err := new(Protection).AppendPackets(nil, nil, nil); err != nil || len(packets) > 0 {
		t.Errorf("nothing is %d packets (%v)", len(packets), err)
	}
}
