package otlp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"

	"github.com/klauspost/compress/gzip"

	"github.com/rondo-db/rondo/receivers"
)

const (
	maxUnpacked = 16 << 20 // bytes of a body of protobuf
	maxJSON     = 4 << 20  // bytes of a body of JSON
	// jsonMemory is how many bytes of memory a byte of JSON may take while it is turned into
	// protobuf: "{}," becomes a data point.
	jsonMemory = 48
)

// A refusal says why a request is not taken.
type refusal struct {
	status int
	reason receivers.Reason
	what   string
}

func (r *refusal) Error() string { return r.what }

var errBusyMemory = &refusal{status: http.StatusServiceUnavailable, reason: receivers.Overload, what: "requests take too much memory now"}

// message returns the message in a body as protobuf. Call release when it is not used any more.
func message(q *receivers.Requests, r *http.Request, f form, body []byte) (whole []byte, release func(), err error) {
	limit, memory := int64(maxUnpacked), int64(1)
	if f == jsonForm {
		limit, memory = maxJSON, jsonMemory
	}
	size := int64(len(body))
	packed := false
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip":
		packed = true
		if size < 18 {
			return nil, nil, &refusal{http.StatusBadRequest, receivers.Malformed, "the body is no gzip"}
		}
		size = int64(binary.LittleEndian.Uint32(body[size-4:])) // as it says itself
	default:
		return nil, nil, &refusal{http.StatusUnsupportedMediaType, receivers.Unsupported, "the content encoding is neither gzip nor identity"}
	}
	if size > limit {
		what := fmt.Sprintf("the body takes %d bytes when it is unpacked, at most %d are possible", size, limit)
		return nil, nil, &refusal{http.StatusRequestEntityTooLarge, receivers.Limit, what}
	}
	if !packed && f == binaryForm {
		return body, func() {}, nil
	}
	release, ok := q.Unpack(size * memory)
	if !ok {
		return nil, nil, errBusyMemory
	}
	if packed {
		body, err = unpack(body, size)
	}
	if err == nil && f == jsonForm {
		body, err = toBinary(body)
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return body, release, nil
}

// unpack returns a body of a size that is packed with gzip.
func unpack(packed []byte, size int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("the body is no gzip: %w", err)
	}
	body := make([]byte, size+1)
	switch n, err := io.ReadFull(z, body); {
	case err == nil, int64(n) < size:
		return nil, fmt.Errorf("the body is no gzip of the size that it claims")
	case err != io.ErrUnexpectedEOF && err != io.EOF:
		return nil, fmt.Errorf("the body is no gzip: %w", err)
	default:
		return body[:size], nil
	}
}
