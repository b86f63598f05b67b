package protobuf_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/protobuf"
)

// TestUnreadFieldsArePassedOver: a field that nobody reads does not hide the next one.
func TestUnreadFieldsArePassedOver(t *testing.T) {
	var b []byte
	b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), 300)
	b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), "text")
	b = protowire.AppendTag(protowire.AppendTag(b, 3, protowire.StartGroupType), 3, protowire.EndGroupType)
	b = protowire.AppendFixed64(protowire.AppendTag(b, 4, protowire.Fixed64Type), 7)
	r := protobuf.Reader{B: b}
	var numbers []int
	for r.Next() {
		if numbers = append(numbers, r.Number); r.Is(4, protowire.Fixed64Type) && r.Fixed("x") != 7 {
			t.Error("field 4 is not 7")
		}
	}
	if r.Err() != nil || !slices.Equal(numbers, []int{1, 2, 3, 4}) {
		t.Errorf("fields %v, %v", numbers, r.Err())
	}
}

// TestFirstErrorStays: what is read after an error changes nothing, and the error says where it was.
func TestFirstErrorStays(t *testing.T) {
	r := protobuf.Reader{B: []byte{0x0a, 0x05, 'a'}, Off: 10} // a text of five bytes
	if !r.Next() || len(r.Bytes("a text")) != 0 || r.Uint("a number") != 0 || r.Next() {
		t.Error("the message goes on")
	}
	e, ok := r.Err().(*receivers.Error)
	if !ok || e.Reason != receivers.Truncated || e.Offset != 12 || e.What != "a text is cut off" {
		t.Errorf("%+v", r.Err())
	}
}

// TestAppendFixed: numbers may be packed, one by one, or cut off.
func TestAppendFixed(t *testing.T) {
	packed := append([]byte{0x0a, 16}, make([]byte, 16)...)
	for _, c := range []struct {
		message []byte
		numbers int
		ok      bool
	}{{packed, 2, true}, {append([]byte{0x09}, make([]byte, 8)...), 1, true}, {append([]byte{0x0a, 9}, make([]byte, 9)...), 1, false}, {[]byte{0x08, 1}, 0, false}} {
		r := protobuf.Reader{B: c.message}
		r.Next()
		if got := r.AppendFixed(nil, "x"); len(got) != c.numbers || (r.Err() == nil) != c.ok {
			t.Errorf("%x: %v, %v", c.message, got, r.Err())
		}
	}
}
