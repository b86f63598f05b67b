package natskv_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/cluster/natskv"
	"github.com/rondo-db/rondo/internal/natstest"
)

// TestDeletedBucket: a store that runs makes a bucket again that was deleted, another one reads it
// although its revisions are lower than before, and a command does not make it.
func TestDeletedBucket(t *testing.T) {
	t.Parallel() // most of it is waiting
	c := natstest.Three(t)
	s := connect(t, natskv.Options{URL: c.URLs(), Bucket: "b"})
	other := connect(t, natskv.Options{URL: c.URLs(), Bucket: "b"})
	command := connect(t, natskv.Options{URL: c.URLs(), Bucket: "b", MustExist: true})
	other.BelieveAfter(time.Hour)
	for _, x := range []*natskv.Store{s, other, command} {
		x.AskEvery(10 * time.Millisecond)
	}
	other.AskTimes(1 << 30)
	var rev uint64
	for range 5 {
		var err error
		if rev, err = s.CompareAndSet(t.Context(), "all.x", []byte("old"), rev); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []*natskv.Store{other, command} {
		if e, err := x.Get(t.Context(), "all.x"); err != nil || e.Revision != rev {
			t.Fatalf("%+v, %v", e, err)
		}
	}
	js, err := jetstream.New(s.Conn())
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), natskv.Stream("b")); err != nil {
		t.Fatal(err)
	}
	list := func(x *natskv.Store) (int, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		all, err := x.List(ctx, "all.")
		return len(all), err
	}
	for range 30 {
		if _, err := list(command); err == nil {
			t.Fatal("a command reads a bucket that was deleted")
		}
	}
	if _, err := js.Stream(t.Context(), natskv.Stream("b")); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Fatalf("a command has made the bucket: %v", err)
	}
	told := false
	for _, x := range []*natskv.Store{s, other} {
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
			n, err := list(x)
			told = told || errors.Is(err, natskv.ErrNoBucket)
			if err == nil && n == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d keys, %v", n, err)
			}
		}
	}
	if !told {
		t.Error("nobody is told that the bucket was deleted")
	}
	if _, err := other.CompareAndSet(t.Context(), "all.x", []byte("new"), 0); err != nil {
		t.Error(err)
	}
	if e, err := s.Get(t.Context(), "all.x"); err != nil || string(e.Value) != "new" {
		t.Errorf("%+v, %v", e, err)
	}
}
