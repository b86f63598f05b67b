package receivebench

import (
	"errors"
	"fmt"
	"net"
)

// A wire sends messages to a target. It is for one goroutine.
type wire interface {
	// add sends message i of a round, at the latest with the next flush. b must not change until
	// then.
	add(i int, b []byte) error
	flush() error
	close() error
}

// openWire connects to a target. If the protocol uses streams, it opens a connection for each host.
func openWire(s subject, address string, hosts int, segments bool) (wire, error) {
	if s.protocol.Network == "tcp" {
		if segments {
			return nil, errors.New("bench: the system cuts datagrams, not streams")
		}
		return openStreams(address, hosts)
	}
	conn, err := net.Dial("udp", address)
	if err != nil {
		return nil, err
	}
	udp := conn.(*net.UDPConn) // what "udp" gives
	if err = udp.SetWriteBuffer(4 << 20); err != nil {
		return nil, errors.Join(err, udp.Close())
	}
	if segments {
		return newSegmenter(udp, s.most)
	}
	w := new(sender)
	if err := w.init(udp); err != nil {
		return nil, errors.Join(err, udp.Close())
	}
	return w, nil
}

// streams are connections, one for each host. A message of a round comes from one host, and each
// host has an address of its own.
type streams []net.Conn

func openStreams(address string, hosts int) (streams, error) {
	var s streams
	for h := range hosts {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(hostAddress(h))}}
		conn, err := d.Dial("tcp", address)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("connect as host %d: %w", h, err), s.close())
		}
		s = append(s, conn)
	}
	return s, nil
}

// hostAddress returns the address of host h. All these addresses are this machine's.
func hostAddress(h int) string {
	return fmt.Sprintf("127.%d.%d.%d", 1+h/62_500, h/250%250, 1+h%250)
}

func (s streams) add(i int, b []byte) error {
	_, err := s[i].Write(b)
	return err
}

func (s streams) flush() error { return nil }

func (s streams) close() (err error) {
	for _, c := range s {
		err = errors.Join(err, c.Close())
	}
	return err
}
