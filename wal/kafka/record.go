package kafka

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A record is one that a broker has sent.
type record struct {
	offset  int64
	key     []byte
	value   []byte
	damaged bool // nothing but offset is known
}

// counts says whether the record is where its key says. The key is part of the format, which
// docs/cluster.md describes.
func (r record) counts() bool {
	return len(r.key) == 8 && binary.LittleEndian.Uint64(r.key) == uint64(r.offset)
}

// unpack unpacks batches that a broker or another program has compressed.
var unpack = kgo.DefaultDecompressor()

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendBatch appends a batch with one record, of version 2 of Kafka's format, to dst. The record
// counts at offset at. It has no time: the brokers put theirs.
func appendBatch(dst []byte, at int64, value []byte) []byte {
	rec := []byte{0, 0, 0} // attributes, differences of time and offset
	rec = binary.AppendVarint(rec, 8)
	rec = binary.LittleEndian.AppendUint64(rec, uint64(at))
	rec = binary.AppendVarint(rec, int64(len(value)))

	begin := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)             // offset
	dst = append(dst, 0, 0, 0, 0)                         // length
	dst = append(dst, 0xff, 0xff, 0xff, 0xff, 2)          // epoch of the leader, version
	dst = append(dst, 0, 0, 0, 0)                         // checksum
	body := len(dst)                                      // of what follows
	dst = append(dst, 0, 0, 0, 0, 0, 0)                   // attributes, offset of the last record
	dst = append(dst, make([]byte, 16)...)                // first and last time
	dst = binary.BigEndian.AppendUint64(dst, ^uint64(0))  // no producer id
	dst = append(dst, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff) // nor its epoch and sequence number
	dst = append(dst, 0, 0, 0, 1)                         // records
	dst = binary.AppendVarint(dst, int64(len(rec)+len(value)+1))
	dst = append(dst, rec...)
	dst = append(dst, value...)
	dst = append(dst, 0) // headers
	binary.BigEndian.PutUint32(dst[begin+8:], uint32(len(dst)-begin-12))
	binary.BigEndian.PutUint32(dst[body-4:], crc32.Checksum(dst[body:], castagnoli))
	return dst
}

// recordsOf returns the records of an answer from offset at on, and the offset behind them and what
// is left out: Kafka's own records of transactions. A batch that does not match its checksum ends
// them, as a record that is damaged.
func recordsOf(p *kmsg.FetchResponseTopicPartition, at int64) ([]record, int64, error) {
	got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: at}, p, unpack, nil)
	if e, ok := errors.AsType[*kerr.Error](got.Err); ok {
		return nil, at, e
	}
	all := make([]record, 0, len(got.Records)+1)
	for _, r := range got.Records {
		all = append(all, record{offset: r.Offset, key: r.Key, value: r.Value})
	}
	if got.Err != nil {
		all = append(all, record{offset: next, damaged: true})
		next++
	}
	return all, next, nil
}
