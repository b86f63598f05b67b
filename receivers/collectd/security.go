package collectd

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"hash"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/internal/conffile"
)

// A Level is how well a packet is protected.
type Level int

// The levels, each better than the one before.
const (
	None Level = iota
	Sign
	Encrypt
)

var levelNames = [...]string{None: "none", Sign: "sign", Encrypt: "encrypt"}

// ParseLevel reads the name of a level.
func ParseLevel(s string) (Level, error) {
	if l := slices.Index(levelNames[:], strings.ToLower(s)); l >= 0 {
		return Level(l), nil
	}
	return None, fmt.Errorf("security level %q is not none, sign or encrypt", s)
}

// String returns the level's name.
func (l Level) String() string { return levelNames[l] }

// Users are names with their passwords. One goroutine at a time may use them: each user holds the
// memory for verifying a packet, so that a packet allocates nothing.
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

// sign returns the signature of b. It is valid until the next call.
func (u *user) sign(b []byte) []byte {
	u.mac.Reset()
	_, _ = u.mac.Write(b) // a hash never fails
	return u.mac.Sum(u.sum[:0])
}

// ofb encrypts or decrypts b in place, in output feedback mode (NIST SP 800-38A).
func (u *user) ofb(iv, b []byte) {
	copy(u.stream[:], iv)
	for len(b) > 0 {
		u.block.Encrypt(u.stream[:], u.stream[:])
		b = b[subtle.XORBytes(b, b, u.stream[:]):]
	}
}

// An authFile is a users file that is read again when its modification time changes.
type authFile struct {
	name  string
	users *Users
	open  bool // others can read it
	mtime time.Time
	size  int64
}

// maxAuthFile is the size of the largest users file in bytes.
const maxAuthFile = 64 << 20

func openAuthFile(name string) (*authFile, error) {
	f := &authFile{name: name}
	fi, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	f.open = fi.Mode().Perm()&0o004 != 0
	if err := f.read(fi); err != nil {
		return nil, err
	}
	return f, nil
}

// reload reads the file again if it has changed, and reports whether it has. If there is an error
// the old users stay.
func (f *authFile) reload() (bool, error) {
	fi, err := os.Stat(f.name)
	if err != nil {
		return false, err
	}
	if fi.ModTime().Equal(f.mtime) && fi.Size() == f.size {
		return false, nil
	}
	if err := f.read(fi); err != nil {
		return false, err
	}
	return true, nil
}

func (f *authFile) read(fi os.FileInfo) error {
	b, err := conffile.Read(f.name, maxAuthFile)
	if err != nil {
		return err
	}
	f.users, f.mtime, f.size = ParseUsers(string(b)), fi.ModTime(), fi.Size()
	return nil
}
