package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/wal/stream"
)

// leastVersion is the oldest nats-server that is accepted.
const leastVersion = "2.15.2"

const (
	whyVersion = "older servers have defects of replication that lose acknowledged messages"
	whySync    = "a power cut of all servers loses what was acknowledged since their last sync, by default two minutes"
)

// checkStream returns what is wrong with the settings of the stream.
func checkStream(c jetstream.StreamConfig, o Options) error {
	var all []error
	check := func(ok bool, setting string, is any, line, why string) {
		if !ok {
			all = append(all, &stream.SettingError{Where: "stream " + c.Name, Setting: setting, Is: fmt.Sprint(is), Line: line, Why: why})
		}
	}
	check(len(c.Subjects) == 1 && c.Subjects[0] == subjectOf(c.Name), "subjects", c.Subjects, "subjects: ["+subjectOf(c.Name)+"]", "the log publishes to this subject, and nothing else may")
	check(c.Replicas >= 3 || o.AcceptFewerReplicas, "num_replicas", c.Replicas, "num_replicas: 3", "the loss of one disk loses the log")
	check(c.Storage == jetstream.FileStorage, "storage", c.Storage, "storage: file", "a restart loses the log")
	check(c.Retention == jetstream.LimitsPolicy, "retention", c.Retention, "retention: limits", "messages vanish when they are read")
	check(c.Discard == jetstream.DiscardNew, "discard", c.Discard, "discard: new", "a full stream drops its oldest messages")
	check(c.MaxBytes > 0, "max_bytes", c.MaxBytes, "max_bytes: SIZE", "the stream fills the disk of its servers")
	check(c.MaxAge == 0, "max_age", c.MaxAge, "max_age: 0", "old messages vanish")
	check(c.MaxMsgs <= 0, "max_msgs", c.MaxMsgs, "max_msgs: -1", "the log is bounded by its size")
	check(c.MaxMsgsPerSubject <= 0, "max_msgs_per_subject", c.MaxMsgsPerSubject, "max_msgs_per_subject: -1", "all messages have one subject, and old ones vanish")
	check(c.MaxMsgSize <= 0 || c.MaxMsgSize >= leastMessage, "max_msg_size", c.MaxMsgSize, "max_msg_size: -1", "blocks of records do not fit")
	check(c.AllowDirect, "allow_direct", c.AllowDirect, "allow_direct: true", "the log is read this way")
	check(c.DenyDelete, "deny_delete", c.DenyDelete, "deny_delete: true", "a message that is deleted leaves a hole")
	check(!c.DenyPurge, "deny_purge", c.DenyPurge, "deny_purge: false", "the log is truncated this way")
	check(!c.AllowRollup, "allow_rollup_hdrs", c.AllowRollup, "allow_rollup_hdrs: false", "a message may remove all others")
	check(!c.AllowMsgTTL, "allow_msg_ttl", c.AllowMsgTTL, "allow_msg_ttl: false", "messages may vanish")
	check(!c.NoAck, "no_ack", c.NoAck, "no_ack: false", "nothing is acknowledged")
	check(!c.Sealed, "sealed", c.Sealed, "a new stream", "it takes no messages any more")
	check(c.Mirror == nil && len(c.Sources) == 0, "mirror or sources", "set", "none", "others write into the log")
	check(c.SubjectTransform == nil, "subject_transform", "set", "none", "messages get another subject")
	check(c.PersistMode == jetstream.DefaultPersistMode, "persist_mode", c.PersistMode, "persist_mode: default", whySync)
	check(c.Duplicates >= duplicateWindow, "duplicate_window", c.Duplicates, "duplicate_window: 2m", "a message that is published again is recognised for that long")
	return errors.Join(all...)
}

// serversOf returns the names of the servers that keep the stream.
func serversOf(nc *nats.Conn, info *jetstream.StreamInfo) []string {
	if info.Cluster == nil || info.Cluster.Leader == "" {
		return []string{nc.ConnectedServerName()}
	}
	names := []string{info.Cluster.Leader}
	for _, p := range info.Cluster.Replicas {
		names = append(names, p.Name)
	}
	return names
}

// varz is the part of a server's monitoring that is looked at.
type varz struct {
	Name      string `json:"server_name"`
	Version   string `json:"version"`
	JetStream struct {
		// Config is missing while JetStream is disabled, as after the disk of the server was full.
		Config *jetStreamConfig `json:"config"`
	} `json:"jetstream"`
}

// jetStreamConfig is the part of the configuration of a server's JetStream that is looked at.
type jetStreamConfig struct {
	SyncAlways bool `json:"sync_always"`
}

// checkServers asks the servers how they sync. It returns an error that names the settings that
// lose data. A server that does not answer, or whose JetStream is disabled, stores nothing now: it
// is named in absent, and more than half of names must be there. It is asked again with the next
// log that is opened. With AcceptUnsynced no server is asked, because no answer matters.
func checkServers(ctx context.Context, names []string, o Options) (absent []error, err error) {
	if o.AcceptUnsynced {
		return nil, nil
	}
	seen := make(map[string]bool)
	there, silent := 0, 0
	var all []error
	for _, at := range o.Monitor {
		v, err := monitor(ctx, at)
		if err != nil {
			absent = append(absent, err)
			silent++ // it may be any server that is not seen
			continue
		}
		seen[v.Name] = true
		if err := checkVersion(v.Name, v.Version); err != nil {
			all = append(all, err)
		}
		switch {
		case v.JetStream.Config == nil:
			absent = append(absent, fmt.Errorf("server %s: JetStream is disabled, as after its disk was full: free its disk and restart it", v.Name))
		case !v.JetStream.Config.SyncAlways:
			all = append(all, notAlways(v.Name))
		case slices.Contains(names, v.Name):
			there++
		}
	}
	for _, name := range names {
		if seen[name] {
			continue
		}
		if silent--; silent < 0 {
			all = append(all, &stream.SettingError{
				Where: "server " + name, Setting: "sync_interval", Is: "not known, because no monitoring port of it was named",
				Line: "http: HOST:PORT, and name that address", Why: whySync,
			})
		}
	}
	if len(all) == 0 && 2*there <= len(names) {
		all = append(all, fmt.Errorf("of %d servers that keep the stream only %d say how they sync; more than half must", len(names), there))
		all = append(all, absent...)
	}
	return absent, errors.Join(all...)
}

// checkConnected returns an error if a server says that it acknowledges before it syncs.
func checkConnected(ctx context.Context, name string, o Options) error {
	if o.AcceptUnsynced {
		return nil
	}
	for _, at := range o.Monitor {
		if v, err := monitor(ctx, at); err == nil && v.Name == name && v.JetStream.Config != nil && !v.JetStream.Config.SyncAlways {
			return notAlways(name)
		}
	}
	return nil
}

// notAlways is of a server that acknowledges before it syncs.
func notAlways(name string) error {
	return &stream.SettingError{Where: "server " + name, Setting: "sync_interval", Is: "not always", Line: "jetstream { sync_interval: always }", Why: whySync}
}

// monitor reads what a server says of itself. /varz gives the configuration of JetStream as it was
// when the page was first read: none if that was before JetStream had started, and the former one
// after JetStream was disabled. So /jsz counts, which shows what is true now.
func monitor(ctx context.Context, at string) (v varz, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := readMonitor(ctx, at, "/varz", &v); err != nil {
		return v, err
	}
	var now struct {
		Disabled bool             `json:"disabled"`
		Config   *jetStreamConfig `json:"config"`
	}
	err = readMonitor(ctx, at, "/jsz", &now)
	switch {
	case now.Disabled:
		v.JetStream.Config = nil
	case now.Config != nil:
		v.JetStream.Config = now.Config
	}
	return v, err
}

// readMonitor reads one page of a monitoring port.
func readMonitor(ctx context.Context, at, page string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(at, "/")+page, http.NoBody)
	if err != nil {
		return fmt.Errorf("monitoring port %s: %w", at, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("monitoring port %s: %w", at, err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("monitoring port %s: %s", at, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(into); err != nil {
		return fmt.Errorf("monitoring port %s: %w", at, err)
	}
	return nil
}

// checkVersion returns an error if a server is too old.
func checkVersion(server, version string) error {
	if atLeast(version) {
		return nil
	}
	return &stream.SettingError{Where: "server " + server, Setting: "version", Is: version, Line: "nats-server " + leastVersion + " or later", Why: whyVersion}
}

// atLeast says whether a server's version is leastVersion or later.
func atLeast(version string) bool {
	var have, want [3]int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &have[0], &have[1], &have[2]); n < 3 {
		return false
	}
	_, _ = fmt.Sscanf(leastVersion, "%d.%d.%d", &want[0], &want[1], &want[2]) // a constant
	for i := range have {
		if have[i] != want[i] {
			return have[i] > want[i]
		}
	}
	return true
}
