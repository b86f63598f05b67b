package send

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// answerTime is how long a sender of datagrams waits for the answer that nobody listens.
const answerTime = 20 * time.Millisecond

// sendDatagrams sends packets to a UDP address. If the machine answers that nobody listens at the
// port, sendDatagrams returns an error. Without such an answer it is unknown whether a datagram has
// arrived.
func sendDatagrams(ctx context.Context, to string, packets [][]byte) error {
	conn, err := new(net.Dialer).DialContext(ctx, "udp", to)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // the datagrams have been sent
	for _, b := range packets {
		if _, err := conn.Write(b); err != nil {
			return unheard(to, err)
		}
	}
	if err := conn.SetReadDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	var b [1]byte
	if _, err := conn.Read(b[:]); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return unheard(to, err)
	}
	return nil
}

// unheard explains the error of a refused datagram.
func unheard(to string, err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("nothing listens at UDP %s: the values are lost", to)
	}
	return err
}
