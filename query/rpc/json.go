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

// jsonCodecs is the JSON encoding under the names that clients use. Unknown fields are ignored in
// requests that only read, so that clients and servers may be of different versions.
var jsonCodecs = []codec{
	{"json", protojson.MarshalOptions{}.MarshalAppend, decodeJSON},
	{"json; charset=utf-8", protojson.MarshalOptions{}.MarshalAppend, decodeJSON},
}

func decodeJSON(b []byte, m proto.Message) error {
	if len(b) == 0 {
		return errors.New("an empty body is no JSON object: send {} at least")
	}
	if _, ok := m.(*rondov1.WriteRequest); ok {
		if n := bytes.Count(b, []byte{'{'}); n > maxParts {
			return tooManyParts(n)
		}
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: !changes(m)}).Unmarshal(b, m); err != nil {
		return bounded(explained(err))
	}
	return nil
}

// explained adds a remedy to those errors of protojson that have a known one.
func explained(err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "invalid value for string field"):
		return fmt.Errorf("%w: put it in quotes", err)
	case strings.Contains(text, "unknown field"):
		return fmt.Errorf("%w: a request that changes something may hold no other fields than those of rondo.proto", err)
	}
	return err
}
