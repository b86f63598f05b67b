package successor

const (
	chunkBits  = 20
	chunkBytes = 1 << chunkBits
	keyAlign   = 16
	// placeShift is how many low bits of a place say where in its chunk a key begins, in units of
	// keyAlign. The other bits are the number of the chunk.
	placeShift = chunkBits - 4
)

// MaxChunks is how many chunks of 1 MiB Keys can have at most.
const MaxChunks = 1 << (32 - placeShift)

// Keys holds the bytes of keys in a few large pieces of memory. The zero value is ready.
type Keys struct {
	chunks [][]byte // a key never crosses chunks
}

// Chunks returns how many chunks of 1 MiB the keys take. The owner must call Clear at the latest
// when there are MaxChunks.
func (k *Keys) Chunks() int { return len(k.chunks) }

// Add copies a key, whose bytes are a and then b, and returns its place. A key must be shorter than
// 1 MiB.
func (k *Keys) Add(a, b []byte) (place uint32) {
	i := len(k.chunks) - 1
	if i < 0 || len(k.chunks[i])+len(a)+len(b)+keyAlign > chunkBytes {
		i++
		if i < cap(k.chunks) && k.chunks[:i+1][i] != nil {
			k.chunks = k.chunks[:i+1] // one from before Clear
			k.chunks[i] = k.chunks[i][:0]
		} else {
			k.chunks = append(k.chunks, make([]byte, 0, chunkBytes))
		}
	}
	at := len(k.chunks[i])
	c := append(append(k.chunks[i], a...), b...)
	k.chunks[i] = c[:(len(c)+keyAlign-1)&^(keyAlign-1)]
	return uint32(i)<<placeShift | uint32(at/keyAlign)
}

// At returns the key at a place, followed by other bytes: it does not know where the key ends.
func (k *Keys) At(place uint32) []byte {
	return k.chunks[place>>placeShift][(place&(1<<placeShift-1))*keyAlign:]
}

// Clear removes all keys and keeps the memory.
func (k *Keys) Clear() { k.chunks = k.chunks[:0] }
