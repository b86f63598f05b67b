package natsconn

import "testing"

// Addresses stand in errors and in the log: without what gives access to the servers.
func TestAddressesAreShownWithoutPasswords(t *testing.T) {
	for in, want := range map[string]string{
		"nats://a:4222":                      "nats://a:4222",
		"nats://u:p%40s@a:4222,tls://b:1":    "nats://u:xxxxx@a:4222,tls://b:1",
		"nats://token@[::1]:4222":            "nats://xxxxx@[::1]:4222",
		"nats://u:p%zz@a:4222,nats://b:4222": "xxxxx@a:4222,nats://b:4222",
		"":                                   "",
	} {
		if got := Redacted(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
