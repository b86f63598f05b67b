package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// answerTime is how long a sender of datagrams waits for the word that nobody listens.
const answerTime = 20 * time.Millisecond

// sendDatagrams sends packets to a UDP address. A machine that has nothing at the port usually says
// so; that is an error. Without such a word nobody knows whether a datagram has arrived.
func sendDatagrams(ctx context.Context, to string, packets [][]byte) error {
	conn, err := new(net.Dialer).DialContext(ctx, "udp", to)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // what was sent is on its way
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

// unheard says what a refused datagram means.
func unheard(to string, err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("nothing listens at UDP %s: the values are lost", to)
	}
	return err
}
