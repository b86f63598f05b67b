package types_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/types"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// TestSentAndRead: what is sent is read as it was.
func TestSentAndRead(t *testing.T) {
	ls := []core.Label{{Name: "a", Value: "1"}, {Name: "b", Value: "\xff"}}
	about := core.PathMetadata{Path: "p", Metadata: core.Metadata{Time: 1, Text: "t", Attributes: ls, Expire: 2, Expired: true}}
	if got := types.ReadMetadata(types.SentMetadata(about)); !reflect.DeepEqual(got, about) {
		t.Errorf("got %v, want %v", got, about)
	}
	note := &typesv1.Note{Key: "k", TimeUs: 1, Severity: "okay", Text: "t", Labels: types.SentLabels(ls)}
	if got := types.SentNote("k", core.Note{Time: 1, Severity: "okay", Text: "t", Labels: ls}); !proto.Equal(got, note) {
		t.Errorf("got %v, want %v", got, note)
	}
}

// TestOperatorsOfMatchers: an empty one is "=", and an error names the matcher.
func TestOperatorsOfMatchers(t *testing.T) {
	ms, err := types.ReadMatchers([]*typesv1.Matcher{{Name: "a", Value: "1"}})
	if err != nil || ms[0].Op != core.MatchEqual {
		t.Errorf("got %v, %v", ms, err)
	}
	for _, op := range []string{"==", "~", "below"} {
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
