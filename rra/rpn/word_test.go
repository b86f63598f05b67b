package rpn

import (
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	p, err := Compile("a,-3,+,PREV(b),b,2.5,*,IF", []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Word{
		{Kind: Variable},
		{Kind: Number, Number: -3},
		{Operator: "+"},
		{Kind: Previous, Variable: 1},
		{Kind: Variable, Variable: 1},
		{Kind: Number, Number: 2.5},
		{Operator: "*"},
		{Operator: "IF"},
	}
	if got := p.Words(); !slices.Equal(got, want) {
		t.Errorf("words %+v, want %+v", got, want)
	}
}
