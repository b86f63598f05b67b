package rpc

import (
	"compress/gzip"
	"errors"
	"io"

	"connectrpc.com/connect"
	fast "github.com/klauspost/compress/gzip"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// The limits of requests and answers, but not of Commands. Bytes are counted after unpacking.
const (
	// MaxRequestBytes bounds a Write, an Import and a SetMetadata, the largest of all requests.
	MaxRequestBytes = 4 << 20
	maxCreateBytes  = 1 << 20   // bytes of one Create
	maxManyBytes    = 256 << 10 // bytes of one FetchMany or SaveDashboard
	maxQueryBytes   = 64 << 10  // bytes of any other request
	maxMatchers     = 32        // matchers of one List
	maxAnswerBytes  = 256 << 20 // bytes of one answer that a Client accepts
	maxSamples      = 100_000   // samples of one Write
	maxRejections   = 16        // rejections listed in the answer of one Write
	maxReading      = 4 << 10   // bytes of one reading that is given as text
	maxFetchValues  = 4 << 20   // values in one answer of Fetch
	maxSelections   = 200       // selections of one FetchMany
	maxPoints       = 20_000    // rows of one selection
	maxReadValues   = 64 << 20  // values that one FetchMany reads to make its rows of
	maxCharted      = 10_000    // data sources below the prefix of one Charts
	defaultCharts   = 50        // charts in a page
	maxCharts       = 200       // likewise, if the request asks for more
	defaultPage     = 1_000     // series or paths in a page of List or Metadata
	maxPage         = 10_000    // likewise, if the request asks for more
	maxLatestPaths  = 1_000     // paths of one Latest or Alerts
	maxLatestRows   = 64        // rows of a series in one answer of Latest
	maxLabelValues  = 1_000_000 // names or values in one answer of Labels
	maxAltered      = 64 << 20  // values that the rows of a series that Alter makes have room for
	maxXportLines   = 1_000     // lines of one Xport
	maxXportWork    = 8 << 20   // values of all CDEFs of one Xport together, and the work of each
	maxTailed       = 10_000    // series of one Tail
	maxTailedAll    = 100_000   // series of all Tails together
	maxTailValues   = 1 << 20   // values in one answer of Tail
	minPackedBytes  = 1 << 10   // bytes of the shortest answer that is packed
)

// The limits of Commands.
const (
	maxExecBytes = 64 << 20  // arguments and standard input of one command
	chunkBytes   = 256 << 10 // bytes of one message of a stream
)

// messageLimits returns the handler options that bound the requests of one procedure. A packed
// request is unpacked up to its limit and no further.
func messageLimits(spec connect.Spec) []connect.HandlerOption {
	n := maxQueryBytes
	switch spec.Procedure {
	case rondov1.RondoWriteProcedure, rondov1.RondoImportProcedure, rondov1.RondoImportManyProcedure, rondov1.RondoSetMetadataProcedure:
		n = MaxRequestBytes
	case rondov1.RondoCreateProcedure, rondov1.RondoAlterProcedure, rondov1.RondoTuneProcedure:
		n = maxCreateBytes
	case rondov1.RondoFetchManyProcedure, rondov1.RondoSaveDashboardProcedure, rondov1.RondoQueryProcedure, rondov1.RondoXportProcedure, rondov1.RondoTailProcedure:
		n = maxManyBytes
	}
	return append(packed(n), connect.WithCodec(binaryCodec), connect.WithCodec(jsonCodecs[0]), connect.WithCodec(jsonCodecs[1]))
}

// packed returns the handler options for requests of at most n bytes, which may be packed as
// answers are.
func packed(n int) []connect.HandlerOption {
	gunzip := func() connect.Decompressor { return &unpacker{limit: int64(n)} }
	return []connect.HandlerOption{
		connect.WithReadMaxBytes(n), connect.WithCompression("gzip", gunzip, newPacker), connect.WithCompressMinBytes(minPackedBytes),
	}
}

// Limits returns the option that bounds the requests of a service that is no part of this package.
func Limits() connect.HandlerOption { return connect.WithConditionalHandlerOptions(messageLimits) }

// newPacker returns what packs answers: quickly, because values hardly become shorter by trying
// harder.
func newPacker() connect.Compressor {
	z, _ := fast.NewWriterLevel(io.Discard, fast.BestSpeed) // the level exists
	return z
}

// An unpacker unpacks gzip and fails after a limit of bytes. Without the failure the library would
// unpack the rest of the request just to report its length.
type unpacker struct {
	gzip.Reader
	limit, left int64
}

var errUnpacked = errors.New("it goes on when unpacked")

func (u *unpacker) Read(p []byte) (int, error) {
	if u.left < 0 {
		return 0, errUnpacked
	}
	n, err := u.Reader.Read(p[:min(int64(len(p)), u.left+1)])
	u.left -= int64(n)
	return n, err
}

func (u *unpacker) Reset(r io.Reader) error {
	u.left = u.limit
	return u.Reader.Reset(r)
}
