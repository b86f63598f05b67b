package core_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// A method of Store that is in no interface was missing for whoever has an Engine.
func TestEveryMethodOfStoreIsInAnInterface(t *testing.T) {
	own := map[string]bool{"Append": true, "Create": true, "Series": true, "Last": true, "Fetch": true, "Metadata": true, "Close": true, "Acknowledged": true, "Backup": true, "LookupAll": true, "MemoryShare": true} // of who has opened the store
	for _, replica := range []string{"Standing", "Role", "Position", "Checkpointed", "WaitFor", "Truncate", "Promote", "Demote", "TakeDigest", "AwaitDigest", "LastDigest", "Identity"} {
		own[replica] = true
	}
	folder := reflect.TypeFor[core.Folder]()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") { // what tests add
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func \(s \*Store\) ([A-Z]\w*)`).FindAllStringSubmatch(string(text), -1) {
			found++
			if _, ok := folder.MethodByName(m[1]); !ok && !own[m[1]] {
				t.Errorf("%s is neither in Engine nor in Folder", m[1])
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d methods found: do they stand elsewhere now?", found)
	}
}

// otherEngine hides what a Store has beyond an Engine.
type otherEngine struct{ core.Engine }

func TestFolderOf(t *testing.T) {
	s := enginetest.Open(t)
	if f, err := core.FolderOf(s, "backup"); err != nil || f != core.Folder(s) {
		t.Errorf("the folder of a store: %v, %v", f, err)
	}
	_, err := core.FolderOf(otherEngine{s}, "backup")
	if !errors.Is(err, core.ErrNoFolder) || !strings.HasPrefix(err.Error(), "backup is of one machine's database") {
		t.Errorf("the folder of another engine: %v", err)
	}
}

// shownBatch is the samples of a batch, in words.
func shownBatch(b *core.Batch) (out []string) {
	for s := range b.All() {
		var text strings.Builder
		fmt.Fprintf(&text, "%d@%d", s.Ref, s.At)
		for _, v := range s.Values {
			if v.Tag == rra.TagText {
				text.WriteString(" " + s.Texts[v.Bits])
			} else {
				fmt.Fprintf(&text, " %x", v.Bits)
			}
		}
		if s.Follows {
			text.WriteString(" follows")
		}
		out = append(out, text.String())
	}
	return out
}

func TestBatchSplits(t *testing.T) {
	b := &core.Batch{SkipPast: true, Stopped: true, Rejections: 7}
	b.Add(1, 100, rra.Int(1))
	b.AddText(2, 100, []rra.Value{rra.Text(1), rra.Int(2)}, []string{"unused", "two"})
	b.Add(1, 101, rra.Int(3))
	b.Add(1, 102, rra.Int(4))
	b.Follow()
	b.AddText(2, 103, []rra.Value{rra.Text(0)}, []string{"more"})
	b.Follow()
	b.Add(9, 104, rra.Int(5))
	var odd, even core.Batch
	var order []int
	even.Add(4, 99, rra.Int(0)) // what is in a batch stays
	split := func(i int, ref core.Ref) (*core.Batch, core.Ref) {
		order = append(order, i)
		switch ref {
		case 9:
			return nil, 0
		case 2:
			return &even, ref + 1000
		}
		return &odd, ref + 1000
	}
	b.Split(split)
	if want := []int{0, 1, 2, 3, 4, 5}; !slices.Equal(order, want) {
		t.Errorf("asked for %v, want %v", order, want)
	}
	if got, want := shownBatch(&odd), []string{"1001@100 1", "1001@101 3", "1001@102 4 follows"}; !slices.Equal(got, want) {
		t.Errorf("one part is %q, want %q", got, want)
	}
	if got, want := shownBatch(&even), []string{"4@99 0", "1002@100 two 2", "1002@103 more"}; !slices.Equal(got, want) {
		t.Errorf("the other part is %q, want %q", got, want)
	}
	if !odd.SkipPast || !odd.Stopped || odd.Rejections != 7 {
		t.Errorf("the settings of the batch are not those of its parts: %+v", odd)
	}
	allocs := testing.AllocsPerRun(10, func() {
		odd.Reset()
		even.Reset()
		order = order[:0]
		b.Split(split)
	})
	if allocs > 0 {
		t.Errorf("a split allocates %v times", allocs)
	}
}

func TestTicketOfAnotherEngine(t *testing.T) {
	var ticket core.Ticket
	told := make(chan struct{}, 1)
	ticket.Notify(func() { told <- struct{}{} })
	for _, want := range []error{nil, io.ErrUnexpectedEOF, &core.RejectedError{Late: 1, First: []core.Rejection{{Index: 5, Err: io.EOF}}}} {
		ticket.Begin()
		if ticket.Done() {
			t.Fatal("the ticket is done before it is complete")
		}
		go ticket.Complete(want)
		if err := ticket.Wait(); err != want {
			t.Errorf("Wait returns %v, want %v", err, want)
		}
		<-told
	}
	// A Store may use the same ticket next.
	s := enginetest.Open(t)
	ref := mustCreate(t, s, "a", gaugeDefinition(t))
	var b core.Batch
	b.Add(ref, rra.Seconds(programStart+10), rra.Int(1))
	if err := s.Submit(t.Context(), &b, &ticket); err != nil {
		t.Fatal(err)
	}
	if err := ticket.Wait(); err != nil {
		t.Error(err)
	}
}

func TestWatchOfAnotherEngine(t *testing.T) {
	want := []core.Change{{Path: "a", Ref: 1}}
	ended := 0
	w := core.NewWatch(func() ([]core.Change, bool) { return want, ended == 0 }, func() { ended++ })
	if got, complete := w.Take(); !reflect.DeepEqual(got, want) || !complete {
		t.Errorf("Take returns %v, %v", got, complete)
	}
	w.End()
	if _, complete := w.Take(); complete || ended != 1 {
		t.Errorf("the watch goes on after its end")
	}
}

// TestShareOf: an engine without a budget gives a share that is bounded all the same.
func TestShareOf(t *testing.T) {
	s := enginetest.Open(t)
	for _, e := range []core.Engine{s, otherEngine{s}} {
		m := core.ShareOf(e)
		if err := errors.Join(m.Resize(1000), m.Resize(10)); err != nil || m.Bytes() != 10 {
			t.Errorf("%T: %d bytes, %v", e, m.Bytes(), err)
		}
		if err := m.Resize(1 << 60); !errors.Is(err, core.ErrMemory) || m.Bytes() != 10 {
			t.Errorf("%T: %d bytes, %v", e, m.Bytes(), err)
		}
	}
}

func TestMemoryShareOfAnotherEngine(t *testing.T) {
	free := int64(100)
	m := core.NewMemoryShare(1<<40, func(from, to int64) error {
		n := to - from
		if n > free {
			return core.ErrMemory
		}
		free -= n
		return nil
	})
	for _, step := range []struct {
		size int64
		err  error
		free int64
	}{{60, nil, 40}, {101, core.ErrMemory, 40}, {100, nil, 0}, {10, nil, 90}, {0, nil, 100}} {
		if err := m.Resize(step.size); err != step.err || free != step.free {
			t.Errorf("size %d: %v, %d bytes free, want %v and %d", step.size, err, free, step.err, step.free)
		}
	}
}
