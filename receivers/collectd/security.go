package collectd

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"hash"
	"strings"

	"github.com/rondo-db/rondo/receivers"
)

// A Level is how well something is protected.
type Level int

// The levels, each better than the one before.
const (
	None Level = iota
	Sign
	Encrypt
)

// ParseLevel reads the name of a level.
func ParseLevel(s string) (Level, error) {
	switch strings.ToLower(s) {
	case "none":
		return None, nil
	case "sign":
		return Sign, nil
	case "encrypt":
		return Encrypt, nil
	}
	return None, fmt.Errorf("security level %q is not none, sign or encrypt", s)
}

// String returns the level's name.
func (l Level) String() string {
	switch l {
	case None:
		return "none"
	case Sign:
		return "sign"
	case Encrypt:
		return "encrypt"
	}
	return fmt.Sprintf("Level(%d)", int(l))
}

// Users are names and passwords. They are not for concurrent use: each keeps what
// verifying needs, so that a packet allocates nothing.
type Users struct{ byName map[string]*user }

type user struct {
	password string
	mac      hash.Hash
	block    cipher.Block
	sum      [macBytes]byte      // of mac
	stream   [aes.BlockSize]byte // of block
}

// ParseUsers reads a users file: one "name: password" a line.
func ParseUsers(text string) *Users {
	u := &Users{byName: make(map[string]*user)}
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimRight(line, "\r\n"), " \t\v\f\r")
		if line == "" || line[0] == '#' {
			continue
		}
		name, password, _ := strings.Cut(line, ":")
		if password = strings.TrimLeft(password, " \t\v\f\r"); password != "" {
			u.byName[name] = newUser(password)
		}
	}
	return u
}

func newUser(password string) *user {
	key := sha256.Sum256([]byte(password))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // 32 bytes are a key
	}
	return &user{password: password, mac: hmac.New(sha256.New, []byte(password)), block: block}
}

// Len returns the number of users.
func (u *Users) Len() int { return len(u.byName) }

// signed reads a signature, whose part is the first size bytes of b, and what it covers: all of b
// after it.
func (d *Decoder) signed(b []byte, size, depth int, have Level, h Handler) *receivers.Error {
	if d.Level == Encrypt && have < Encrypt {
		return fail(receivers.Auth, 0, "signed, not encrypted")
	}
	if size <= signHeader {
		return fail(receivers.Malformed, 0, "signature without a user")
	}
	name := b[signHeader:size]
	if bytes.IndexByte(name, 0) >= 0 {
		return fail(receivers.Malformed, 0, "NUL in the user's name")
	}
	if depth == maxNesting {
		return fail(receivers.Limit, 0, "more than %d levels of signatures and encryption", maxNesting)
	}
	if d.Users == nil {
		d.Unverified = true
	} else {
		u := d.Users.byName[string(name)]
		if u == nil {
			return fail(receivers.Auth, 0, "unknown user %q", name)
		}
		if !hmac.Equal(u.sign(b[signHeader:]), b[partHeader:signHeader]) {
			return fail(receivers.Auth, 0, "wrong signature of user %q", name)
		}
	}
	if err := d.packet(b[size:], depth+1, max(have, Sign), h); err != nil {
		err.Offset += size
		return err
	}
	return nil
}

// encrypted reads an encryption part and what it holds.
func (d *Decoder) encrypted(part []byte, depth int, h Handler) *receivers.Error {
	if len(part) < partHeader+2 {
		return fail(receivers.Malformed, 0, "encryption part has length %d", len(part))
	}
	n := int(binary.BigEndian.Uint16(part[partHeader:]))
	if n == 0 || len(part) <= cryptHeader+n {
		return fail(receivers.Malformed, 0, "encryption part has length %d with a user's name of %d", len(part), n)
	}
	name := part[partHeader+2:][:n]
	if bytes.IndexByte(name, 0) >= 0 {
		return fail(receivers.Malformed, 0, "NUL in the user's name")
	}
	if depth == maxNesting {
		return fail(receivers.Limit, 0, "more than %d levels of signatures and encryption", maxNesting)
	}
	if d.Users == nil {
		return fail(receivers.Auth, 0, "encrypted, and there is no users file")
	}
	u := d.Users.byName[string(name)]
	if u == nil {
		return fail(receivers.Auth, 0, "unknown user %q", name)
	}
	iv := part[partHeader+2+n:][:ivBytes]
	secret := part[partHeader+2+n+ivBytes:]
	plain := append(d.plain[depth][:0], secret...)
	d.plain[depth] = plain
	u.ofb(iv, plain)
	sum := sha1.Sum(plain[checksumBytes:])
	if subtle.ConstantTimeCompare(sum[:], plain[:checksumBytes]) != 1 {
		return fail(receivers.Auth, 0, "wrong password of user %q", name)
	}
	if err := d.packet(plain[checksumBytes:], depth+1, Encrypt, h); err != nil {
		err.Offset += len(part) - len(plain) + checksumBytes
		return err
	}
	return nil
}

// sign returns the signature of b, which the next call overwrites.
func (u *user) sign(b []byte) []byte {
	u.mac.Reset()
	_, _ = u.mac.Write(b) // a hash never fails
	return u.mac.Sum(u.sum[:0])
}

// ofb encrypts or decrypts b in place, in output feedback mode.
func (u *user) ofb(iv, b []byte) {
	copy(u.stream[:], iv)
	for len(b) > 0 {
		u.block.Encrypt(u.stream[:], u.stream[:])
		b = b[subtle.XORBytes(b, b, u.stream[:]):]
	}
}
