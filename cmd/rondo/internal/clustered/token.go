package clustered

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/internal/owner"
	"github.com/rondo-db/rondo/internal/replace"
	"github.com/rondo-db/rondo/internal/sleep"
)

// Nodes without certificates know each other by a token. Where none is given, the cluster keeps one
// in its bucket, which the first node draws at random. Each node has a copy on its disk: if the
// servers lose the token, a node that is started must not draw another one.

const (
	keyToken  = "token" // of the bucket
	tokenFile = "token"
	// tokenInterval is the time between two looks whether the bucket still has the token.
	tokenInterval = 10 * time.Second
	maxToken      = 4 << 10
)

// errTokenLost says that the nodes of a cluster know a token that the bucket lacks.
var errTokenLost = errors.New("the servers have lost the token of the cluster; waiting for a node that knows it")

// sharedToken returns the token that the cluster keeps. If the bucket lacks it, the one on the disk
// is written there; if that lacks it too, and there is no cluster yet or draw is set, one is drawn.
func sharedToken(ctx context.Context, s coord.Store, dir string, draw bool) (string, error) {
	own, err := readToken(dir)
	if err != nil {
		return "", err
	}
	token, err := agreeOnToken(ctx, s, own, draw)
	if err != nil {
		return "", fmt.Errorf("token of the cluster: %w", err)
	}
	if token != own {
		err = writeToken(dir, token)
	}
	return token, err
}

// agreeOnToken returns the token of the bucket. own is the one that this node knows, or empty.
func agreeOnToken(ctx context.Context, s coord.Store, own string, draw bool) (string, error) {
	for ; ; _ = sleep.For(ctx, 50*time.Millisecond) {
		e, err := s.Get(ctx, keyToken)
		if err != nil {
			return "", err
		}
		if e.Revision > 0 && !e.Damaged {
			return string(e.Value), nil
		}
		token := own
		if token == "" {
			if v, err := coord.NewWatcher(s, coord.Times{}, time.Now).Look(ctx); err != nil {
				return "", err
			} else if lost, err := mapLost(ctx, s, v); err != nil || (lost || v.HasMap()) && !draw {
				return "", errors.Join(err, errTokenLost)
			}
			token = rand.Text() + rand.Text()
		}
		if _, err = s.CompareAndSet(ctx, keyToken, []byte(token), e.Revision); err != nil && !errors.Is(err, coord.ErrConflict) {
			return "", err
		}
	}
}

// keepToken looks now and then whether the bucket still has the token, until ctx ends.
func keepToken(ctx context.Context, s coord.Store, token string, l *slog.Logger) {
	for sleep.For(ctx, tokenInterval) == nil {
		call, cancel := context.WithTimeout(ctx, tokenInterval)
		now, err := agreeOnToken(call, s, token, false)
		cancel()
		if err == nil && now != token { // somebody has written another one
			l.Error("the token of the cluster has changed: nodes that are started from now on are refused by this one; restart it")
			return
		}
	}
}

// readToken returns the token that a node's folder has, or "".
func readToken(dir string) (string, error) {
	f, err := os.Open(filepath.Join(dir, tokenFile))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxToken))
	return string(b), errors.Join(err, f.Close())
}

func writeToken(dir, token string) error {
	if err := owner.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	return replace.File(filepath.Join(dir, tokenFile), func(w io.Writer) error {
		_, err := io.WriteString(w, token)
		return err
	})
}
