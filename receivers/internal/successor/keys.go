package successor

const (
	chunkBits  = 20
	chunkBytes = 1 << chunkBits
	keyAlign   = 16
	// bits of a place that say where in its chunk a key begins, in units of keyAlign
	placeShift = chunkBits - 4
)

// MaxChunks is how many chunks of 1 MiB the places of keys can tell apart.
const MaxChunks = 1 << (32 - placeShift)

// Keys holds the bytes of keys, in few large pieces of memory. The zero value is ready.
type Keys struct {
	chunks [][]byte // a key never crosses chunks
}

// Chunks returns how many chunks of 1 MiB the keys take. The owner of the keys begins anew, at the
// latest, when they are MaxChunks.
func (k *Keys) Chunks() int { return len(k.chunks) }

// Add copies a key, of two parts set one after the other, and returns its place. A key has less
// than 1 MiB.
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

// At returns the key at a place, and what stands behind it.
func (k *Keys) At(place uint32) []byte {
	return k.chunks[place>>placeShift][(place&(1<<placeShift-1))*keyAlign:]
}

// Clear takes all keys away, and keeps the memory for others.
func (k *Keys) Clear() { k.chunks = k.chunks[:0] }
