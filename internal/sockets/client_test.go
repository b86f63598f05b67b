package sockets

import "testing"

func TestClientOf(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1",
		"[2001:db8::1]:80": "2001:db8::/64", "[2001:db8::ffff:1]:80": "2001:db8::/64", "[fe80::1%eth0]:80": "fe80::/64", "@": "@",
	} {
		if got := ClientOf(remote); got != want {
			t.Errorf("%s: got %s, want %s", remote, got, want)
		}
	}
}
