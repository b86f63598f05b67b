package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// jsonCodec is protobuf's JSON. In requests that only read, fields that do not exist are passed
// over, so that clients and servers need not be of one version.
type jsonCodec struct{ name string }

// changes says whether a request changes something. An unknown field of such a request is an error:
// a mistyped time_us would store a sample at the present, and a dry_run that this server does not
// know would delete.
func changes(m any) bool {
	switch m.(type) {
	case *rondov1.WriteRequest, *rondov1.CreateRequest, *rondov1.DropRequest, *rondov1.RenameRequest, *rondov1.CheckpointRequest:
		return true
	}
	return false
}

func (c jsonCodec) Name() string { return c.name }
func (jsonCodec) IsBinary() bool { return false }

func (jsonCodec) Marshal(m any) ([]byte, error) { return protojson.Marshal(m.(proto.Message)) }

func (jsonCodec) MarshalAppend(dst []byte, m any) ([]byte, error) {
	return protojson.MarshalOptions{}.MarshalAppend(dst, m.(proto.Message))
}

// MarshalStable is Marshal: the order of fields is always the same, and nobody compares the spaces.
func (c jsonCodec) MarshalStable(m any) ([]byte, error) { return c.Marshal(m) }

func (jsonCodec) Unmarshal(b []byte, m any) error {
	if len(b) == 0 {
		return errors.New("an empty body is no JSON object: send {} at least")
	}
	if _, ok := m.(*rondov1.WriteRequest); ok {
		if n := bytes.Count(b, []byte{'{'}); n > maxParts {
			return tooManyParts(n)
		}
	}
	err := protojson.UnmarshalOptions{DiscardUnknown: !changes(m)}.Unmarshal(b, m.(proto.Message))
	if err != nil {
		return bounded(explained(err))
	}
	return nil
}

// explained adds to an error of protojson what to do about it, where that is known.
func explained(err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "invalid value for string field"):
		return fmt.Errorf("%w: put it in quotes", err)
	case strings.Contains(text, "unknown field"):
		return fmt.Errorf("%w: a request that changes something may hold no other fields than those of rondo.proto", err)
	}
	return err
}
