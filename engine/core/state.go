package core

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/held"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra/rows"
	"github.com/rondo-db/rondo/wal"
)

// The state record of a group holds everything about the group but its row blocks: the log position
// that it includes, the directory of its blocks, and the states, open rows and coding contexts of
// its series. docs/format.md gives every byte.

const stateVersion = 5 // part of the format

// appendState codes everything but the directory, which endState adds. The caller holds g.mu.
func (g *group) appendState(dst []byte) []byte {
	c, n := g.c, g.n
	dst = append(dst, stateVersion)
	dst = binary.AppendUvarint(dst, uint64(n))
	dst = binary.AppendUvarint(dst, uint64(g.pos))
	dst = append(dst, g.flags[:n]...)
	last := uint32(0)
	for _, d := range g.defs[:n] {
		dst = binary.AppendVarint(dst, int64(d)-int64(last))
		last = d
	}
	dst = append(dst, g.ctxTag[:n*c.sources]...)
	dst = appendColumns(dst, n, c.sources, g.contexts())
	dst = appendColumns(dst, n, c.words, g.states())
	for col := range c.cols {
		dst = g.appendOpenRows(dst, col)
	}
	dst = appendTexts(dst, g.texts)
	return held.Append(dst, g.held)
}

// statePos reads the log position of a state record without its checksum; 0: it has none.
func statePos(body []byte) wal.Pos {
	r := record.Reader{Rest: body}
	_ = r.Byte()    // version
	_ = r.Uvarint() // series
	return wal.Pos(r.Uvarint())
}

// endState adds the directory and the checksum to the state record of key.
func endState(dst []byte, dir *rowblock.Directory, key []byte) []byte {
	return record.AppendSum(dir.Append(dst), bucketState, key)
}

// appendOpenRows codes the buffers of one column: the number of rows of each series, then base and
// rows of each series that has rows.
func (g *group) appendOpenRows(dst []byte, col int) []byte {
	c := g.c
	pdps := c.streams[col/c.sources].PDPs
	b := g.column(col)
	dst = append(dst, b.n[:g.n]...)
	base := uint32(0)
	for i, n := range b.n[:g.n] {
		if n == 0 {
			continue
		}
		dst = binary.AppendUvarint(dst, record.Zigzag(int64(int32(b.base[i]-base))))
		base = b.base[i]
		var buf [rowblock.MaxBuffer]float64
		dst = rows.Append(dst, g.openRows(buf[:0], i, col, int(n), base), pdps, &b.hints[i])
	}
	return dst
}

// A strided is words of many series: word j of series i stands at words[j*word+i*series].
type strided struct {
	words        []uint64
	word, series int
}

// states returns the states of g, which lie in one of two ways: see class.tabular.
func (g *group) states() strided {
	if g.c.tabular {
		return strided{g.words, g.pitch, 1}
	}
	return strided{g.words, 1, g.c.words}
}

// contexts returns the applied coding contexts of g.
func (g *group) contexts() strided { return strided{g.ctx, 1, g.c.sources} }

// appendColumns codes w words of n series, a word of all series at a time. Each word is coded
// as its exclusive or with the same word of the series before, without zero bytes at one end. First
// comes a nibble for each word: 0 means that all bytes are zero, k from 1 to 8 that the k low bytes
// follow, k from 9 to 15 that the k-8 high bytes follow. Then come the bytes.
func appendColumns(dst []byte, n, w int, of strided) []byte {
	for j := range w {
		at := len(dst)
		for range (n + 1) / 2 {
			dst = append(dst, 0)
		}
		prev := uint64(0)
		for i := range n {
			x := of.words[j*of.word+i*of.series] ^ prev
			prev ^= x
			if x == 0 {
				continue
			}
			low := (bits.Len64(x) + 7) / 8
			if tail := bits.TrailingZeros64(x) / 8; tail > 0 && 8-tail < low {
				dst[at+i/2] |= byte(16-tail) << (4 * (i & 1))
				x >>= 8 * tail
				low = 8 - tail
			} else {
				dst[at+i/2] |= byte(low) << (4 * (i & 1))
			}
			end := len(dst) + low
			dst = binary.LittleEndian.AppendUint64(dst, x)[:end]
		}
	}
	return dst
}

func readColumns(r *record.Reader, n, w int, of strided) {
	for j := range w {
		nibbles := r.Bytes(uint64((n + 1) / 2))
		if r.Err != nil {
			return
		}
		prev := uint64(0)
		for i := range n {
			k := int(nibbles[i/2]>>(4*(i&1))) & 15
			shift := 0
			if k > 8 {
				shift = 8 * (16 - k)
				k -= 8
			}
			if k > len(r.Rest) {
				r.Fail()
				return
			}
			word := r.Rest
			if len(word) < 8 {
				word = append(make([]byte, 0, 8), word...)[:8]
			}
			prev ^= (binary.LittleEndian.Uint64(word) & (1<<(8*k) - 1)) << shift
			r.Rest = r.Rest[k:]
			of.words[j*of.word+i*of.series] = prev
		}
	}
}

func appendTexts(dst []byte, texts map[int][]string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(texts)))
	for _, i := range slices.Sorted(maps.Keys(texts)) {
		dst = binary.AppendUvarint(dst, uint64(i))
		dst = record.AppendTexts(dst, texts[i])
	}
	return dst
}

// decodeState fills the arrays from a state record.
func (g *group) decodeState(b []byte) error {
	body, err := record.CutSum(b, bucketState, g.stateKey())
	if err != nil {
		return err
	}
	c := g.c
	r := record.Reader{Rest: body}
	if v := r.Byte(); v != stateVersion {
		return fmt.Errorf("version %d: %w", v, record.OtherVersion(uint64(v), stateVersion))
	}
	n := r.Uvarint()
	pos := wal.Pos(r.Uvarint())
	if n > 1<<c.shift {
		return record.ErrParse
	}
	g.n = int(n)
	g.resize(g.n)
	g.pos, g.applying = pos, 0
	copy(g.flags, r.Bytes(n))
	last := int64(0)
	for i := range g.n {
		// The catalogue may lack a definition because of a crash: replay of the log adds it.
		last += r.Varint()
		g.defs[i] = uint32(last)
	}
	copy(g.ctxTag, r.Bytes(n*uint64(c.sources)))
	readColumns(&r, g.n, c.sources, g.contexts())
	readColumns(&r, g.n, c.words, g.states())
	for col := 0; col < c.cols && r.Err == nil; col++ {
		readOpenRows(&r, g, col)
	}
	if m := r.Uvarint(); m > 0 && r.Err == nil {
		g.texts = make(map[int][]string)
		for j := uint64(0); j < m && r.Err == nil; j++ {
			i := r.Uvarint()
			g.texts[int(i)] = r.Texts()
		}
	}
	g.held = held.Read(&r, g.n)
	g.dir = rowblock.ReadDirectory(&r, len(c.streams))
	if r.Err != nil || len(r.Rest) != 0 || !g.valid() {
		return record.ErrParse
	}
	return nil
}

func readOpenRows(r *record.Reader, g *group, col int) {
	c := g.c
	st := &c.streams[col/c.sources]
	counts := r.Bytes(uint64(g.n))
	b := g.column(col)
	base := uint32(0)
	for i, n := range counts {
		b.n[i] = n
		if n == 0 {
			continue
		}
		base += uint32(record.Unzigzag(r.Uvarint()))
		b.base[i] = base
		if int64(base)&(st.Buffer-1)+int64(n) >= st.Buffer || r.Err != nil {
			r.Fail()
			return
		}
		var buf [rowblock.MaxBuffer]float64
		vals, used, err := rows.Decode(buf[:0], r.Rest, int(n), st.PDPs)
		if err != nil {
			r.Fail()
			return
		}
		for j, v := range vals {
			g.buffer(col, st, int64(base)+int64(j))[i] = v
		}
		r.Rest = r.Rest[used:]
	}
}
