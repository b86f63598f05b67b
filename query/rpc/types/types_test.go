package types_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/types"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// TestSentAndRead: what is sent is read as it was.
func TestSentAndRead(t *testing.T) {
	regexp, err := core.NewMatcher(core.MatchNotRegexp, "c", "x|y")
	if err != nil {
		t.Fatal(err)
	}
	below := core.Below("a/b", "c")
	ms := []core.Matcher{{Name: "a", Op: core.MatchEqual, Value: "1"}, {Name: "b", Op: core.MatchNotEqual, Value: "\xff"}, regexp, below}
	if got, err := types.ReadMatchers(types.SentMatchers(ms)); err != nil || !reflect.DeepEqual(got, ms) {
		t.Errorf("got %v, %v, want %v", got, err, ms)
	}
	ls := []core.Label{{Name: "a", Value: "1"}, {Name: "b", Value: "\xff"}}
	about := core.PathMetadata{Path: "p", Metadata: core.Metadata{Time: 1, Text: "t", Attributes: ls, Expire: 2, Expired: true}}
	if got := types.ReadMetadata(types.SentMetadata(about)); !reflect.DeepEqual(got, about) {
		t.Errorf("got %v, want %v", got, about)
	}
	note := core.Note{Time: 1, Severity: "okay", Text: "t", Labels: ls}
	if got := types.ReadNote(types.SentNote("k", note)); !reflect.DeepEqual(got, note) {
		t.Errorf("got %v, want %v", got, note)
	}
}

// TestOperatorsOfMatchers: an empty one is "=", and an error names the matcher.
func TestOperatorsOfMatchers(t *testing.T) {
	ms, err := types.ReadMatchers([]*typesv1.Matcher{{Name: "a", Value: "1"}})
	if err != nil || ms[0].Op != core.MatchEqual {
		t.Errorf("got %v, %v", ms, err)
	}
	for _, op := range []string{"==", "~"} {
		_, err := types.ReadMatchers([]*typesv1.Matcher{{Name: "a"}, {Name: "a", Op: op}})
		if err == nil || !strings.Contains(err.Error(), "matcher 1: ") {
			t.Errorf("%q: got %v", op, err)
		}
	}
}

func TestProtoIsTheFile(t *testing.T) {
	want, err := os.ReadFile("rondo_types.proto")
	if err != nil || string(types.Proto) != string(want) || len(want) == 0 {
		t.Errorf("Proto is not rondo_types.proto: %v", err)
	}
}
