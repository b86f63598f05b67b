package webconfig

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/rondo-db/rondo/internal/allowance"
	"github.com/rondo-db/rondo/internal/limit"
)

// The bounds of a checker.
const (
	checkPlaces   = 64              // requests whose password is checked or waits for that
	clientPlaces  = 8               // of them, places of one client
	checkPatience = 5 * time.Second // how long a request waits for its turn
	maxResults    = 1024            // results remembered, of right passwords and of wrong ones each
	tries         = 10              // wrong passwords that a client may send at once
	tryEvery      = time.Second     // time in which it may send one more
)

// A checker compares passwords with bcrypt hashes. That takes long on purpose, so it compares one
// at a time, remembers results, and lets a client that sends wrong passwords wait. At most one
// processor is busy with it, however many requests come.
type checker struct {
	waiting, turn *limit.Limit
	patience      time.Duration // how long a request waits for its turn
	key           [32]byte      // with which passwords are hashed that are remembered
	compare       func(hash, password []byte) error

	failed allowance.Allowances // wrong passwords that clients may send

	mu    sync.Mutex // guards what follows
	right map[[sha256.Size]byte]bool
	wrong map[[sha256.Size]byte]bool
}

func newChecker() *checker {
	c := &checker{
		waiting: limit.New(checkPlaces, clientPlaces), turn: limit.New(1, 1), patience: checkPatience, compare: bcrypt.CompareHashAndPassword,
		right: make(map[[sha256.Size]byte]bool), wrong: make(map[[sha256.Size]byte]bool), failed: allowance.Allowances{Burst: tries, Rate: 1 / tryEvery.Seconds()},
	}
	_, _ = rand.Read(c.key[:]) // never fails
	return c
}

// check reports whether a password fits a hash. A wrong one takes as long as with a hash of the
// cost most, whatever hash it is, so that the time does not show which names there are. The error
// is ErrTries if the client has to wait for an answer, or ctx's.
func (c *checker) check(ctx context.Context, client, name, password string, hash []byte, most int, now time.Time) (bool, error) {
	mac := hmac.New(sha256.New, c.key[:])
	for _, part := range []string{name, string(hash), password} {
		sum := sha256.Sum256([]byte(part))
		mac.Write(sum[:])
	}
	id := [sha256.Size]byte(mac.Sum(nil))
	if right, known, err := c.remembered(id, client, now); known || err != nil {
		return right, err
	}
	if !c.waiting.Take(client, 1) {
		return false, ErrTries
	}
	defer c.waiting.Give(client, 1)
	if !c.turn.Wait(ctx, client, 1, c.patience) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		return false, ErrTries
	}
	defer c.turn.Give(client, 1)
	// Another request may have asked the same meanwhile.
	if right, known, err := c.remembered(id, client, now); known || err != nil {
		return right, err
	}
	right := c.compare(hash, []byte(password)) == nil
	if cost, err := bcrypt.Cost(hash); !right && err == nil {
		for ; cost < most; cost++ { // 2^cost was had, and each cost takes twice the time: 2^most
			_ = c.compare(blank(cost), []byte(password)) // only its time counts
		}
	}
	c.remember(id, client, right, now)
	return right, nil
}

// blank returns a hash of a cost that no password has.
func blank(cost int) []byte {
	return fmt.Appendf(nil, "$2a$%02d$%s", cost, strings.Repeat(".", 53)) // salt and hash are zeros
}

// remembered returns the result of an earlier check. The error is ErrTries if the result is not
// known and the client has sent too many wrong passwords.
func (c *checker) remembered(id [sha256.Size]byte, client string, now time.Time) (right, known bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.right[id]:
		return true, true, nil
	case c.wrong[id]:
		return false, true, nil
	}
	if !c.failed.Has(client, now) {
		return false, false, ErrTries
	}
	return false, false, nil
}

func (c *checker) remember(id [sha256.Size]byte, client string, right bool, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if right {
		put(c.right, id)
		return
	}
	put(c.wrong, id)
	c.failed.Spend(client, 1, now)
}

// put adds an id to a set of results. A full set loses one of its elements.
func put(set map[[sha256.Size]byte]bool, id [sha256.Size]byte) {
	for old := range set {
		if len(set) < maxResults {
			break
		}
		delete(set, old)
	}
	set[id] = true
}
