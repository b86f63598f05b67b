package kafka_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rondo-db/rondo/wal/kafka"
	"github.com/rondo-db/rondo/wal/stream"
)

// makeTopic makes a topic whose settings are safe but for the given ones, NAME=VALUE. "" as a value
// leaves the setting out.
func makeTopic(t *testing.T, c *kfake.Cluster, name string, partitions int32, replicas int16, configs ...string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, replicas
	for _, s := range append([]string{
		"min.insync.replicas=2", "unclean.leader.election.enable=false", "cleanup.policy=delete", "retention.ms=-1", "retention.bytes=-1",
		"message.timestamp.type=LogAppendTime", "max.message.bytes=1000000", "flush.messages=1",
	}, configs...) {
		key, value, _ := strings.Cut(s, "=")
		topic.Configs = slices.DeleteFunc(topic.Configs, func(c kmsg.CreateTopicsRequestTopicConfig) bool { return c.Name == key })
		if value != "" {
			rc := kmsg.NewCreateTopicsRequestTopicConfig()
			rc.Name, rc.Value = key, &value
			topic.Configs = append(topic.Configs, rc)
		}
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, topic)
	if resp, err := req.RequestWith(t.Context(), client); err != nil || resp.Topics[0].ErrorCode != 0 {
		t.Fatal(resp, err)
	}
}

// settingErrors returns the settings that an error of Connect names, each with its line.
func settingErrors(err error) map[string]string {
	lines := make(map[string]string)
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, e := range all {
		if joined, ok := e.(interface{ Unwrap() []error }); ok {
			maps.Copy(lines, settingErrors(errors.Join(joined.Unwrap()...)))
		} else if s, ok := errors.AsType[*stream.SettingError](e); ok {
			lines[s.Setting] = s.Line
		}
	}
	return lines
}

// TestSettings refuses each setting with which records could be lost, with the line to write.
func TestSettings(t *testing.T) {
	c := brokers(t)
	for i, test := range []struct {
		partitions int32
		replicas   int16
		config     string
		setting    string
		line       string
	}{
		{1, 3, "", "", ""},
		{1, 3, "min.insync.replicas=3", "", ""},
		{2, 3, "", "partitions", "a topic with 1 partition"},
		{1, 2, "", "replication factor", "replication factor 3"},
		{1, 3, "min.insync.replicas=1", "min.insync.replicas", "min.insync.replicas=2"},
		{1, 3, "unclean.leader.election.enable=true", "unclean.leader.election.enable", "unclean.leader.election.enable=false"},
		{1, 3, "unclean.leader.election.enable=", "unclean.leader.election.enable", "unclean.leader.election.enable=false"},
		{1, 3, "cleanup.policy=compact,delete", "cleanup.policy", "cleanup.policy=delete"},
		{1, 3, "retention.ms=604800000", "retention.ms", "retention.ms=-1"},
		{1, 3, "retention.bytes=1000000000", "retention.bytes", "retention.bytes=-1"},
		{1, 3, "message.timestamp.type=CreateTime", "message.timestamp.type", "message.timestamp.type=LogAppendTime"},
		{1, 3, "max.message.bytes=10000", "max.message.bytes", "max.message.bytes=526336"},
		{1, 3, "flush.messages=9223372036854775807", "flush.messages", "flush.messages=1"},
		{1, 3, "flush.messages=", "flush.messages", "flush.messages=1"},
	} {
		name := "log" + string(rune('a'+i))
		makeTopic(t, c, name, test.partitions, test.replicas, test.config)
		s, err := kafka.Connect(t.Context(), kafka.Options{Brokers: c.ListenAddrs(), Topic: name})
		if err == nil {
			err = s.Close()
		}
		got := settingErrors(err)
		switch {
		case test.setting == "" && err != nil:
			t.Errorf("%s: %v", test.config, err)
		case test.setting != "" && (len(got) != 1 || got[test.setting] != test.line):
			t.Errorf("%s: got %v (%v), want %s and %q", test.config, got, err, test.setting, test.line)
		}
	}
}

// TestAccept accepts what Options say, and only that.
func TestAccept(t *testing.T) {
	c := brokers(t)
	makeTopic(t, c, "unsynced", 1, 3, "flush.messages=1000")
	makeTopic(t, c, "few", 1, 1, "min.insync.replicas=1")
	for _, o := range []kafka.Options{{Topic: "unsynced", AcceptUnsynced: true}, {Topic: "few", AcceptFewerReplicas: true}, {Topic: "made", AcceptFewerReplicas: true, AcceptUnsynced: true}} {
		o.Brokers = c.ListenAddrs()
		s, err := kafka.Connect(t.Context(), o)
		if err != nil {
			t.Errorf("%s: %v", o.Topic, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err := kafka.Connect(t.Context(), kafka.Options{Brokers: c.ListenAddrs(), Topic: "made"})
	if got := settingErrors(err); len(got) != 3 || got["replication factor"] == "" || got["min.insync.replicas"] == "" || got["flush.messages"] == "" {
		t.Errorf("a topic made for tests: got %v, want its replicas and its sync refused", err)
	}
}

// TestNoBrokers wants an error, in the time that is allowed.
func TestNoBrokers(t *testing.T) {
	c := brokers(t)
	addrs := c.ListenAddrs()
	c.Close()
	if _, err := kafka.Connect(t.Context(), kafka.Options{Brokers: addrs, Topic: "log"}); err == nil {
		t.Error("connected to nobody")
	}
}
