package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/wal/stream"
)

// A setting of a topic, and which values it may have.
type setting struct {
	name string
	is   string // the value of a topic that Connect makes
	ok   func(value string) bool
	why  string
}

// settings returns what a topic must have.
func settings(o Options) []setting {
	synced, inSync := "1", "2"
	if o.AcceptFewerReplicas {
		inSync = "1"
	}
	all := []setting{
		{"min.insync.replicas", inSync, atLeast(inSync), "a record is acknowledged that one broker has, and the loss of that broker loses it"},
		{"unclean.leader.election.enable", "false", exactly("false"), "a replica that lacks acknowledged records becomes the leader"},
		{"cleanup.policy", "delete", exactly("delete"), "records vanish because a later one has the same key"},
		{"retention.ms", "-1", exactly("-1"), "old records vanish"},
		{"retention.bytes", "-1", exactly("-1"), "a topic that grows drops its oldest records"},
		{"message.timestamp.type", "LogAppendTime", exactly("LogAppendTime"), "the brokers refuse records by the clock of this machine"},
		{"max.message.bytes", strconv.Itoa(messageBytes + 2*batchBytes), atLeast(strconv.Itoa(leastMessage)), "blocks of records do not fit"},
	}
	if !o.AcceptUnsynced {
		all = append(all, setting{"flush.messages", synced, exactly(synced), "a power cut of all brokers loses what was acknowledged and not yet written to the disks"})
	}
	return all
}

func exactly(want string) func(string) bool { return func(v string) bool { return v == want } }

func atLeast(want string) func(string) bool {
	least, _ := strconv.Atoi(want) // a constant
	return func(v string) bool {
		n, err := strconv.Atoi(v)
		return err == nil && n >= least
	}
}

// prepare finds or makes the topic, and checks it.
func (s *Server) prepare(ctx context.Context, o Options) error {
	t, err := s.metadata(ctx)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		if err := s.create(ctx, o); err != nil {
			return fmt.Errorf("make topic %s: %w", s.topic, err)
		}
		t, err = s.metadata(ctx)
	}
	if err != nil {
		return err
	}
	values, err := s.describe(ctx)
	if err != nil {
		return fmt.Errorf("settings of topic %s: %w", s.topic, err)
	}
	bytes, _ := strconv.Atoi(values["max.message.bytes"]) // 0 is refused
	s.most = min(messageBytes, bytes-batchBytes)
	return checkTopic(t, values, o)
}

// checkTopic returns what is wrong with the topic.
func checkTopic(t kmsg.MetadataResponseTopic, values map[string]string, o Options) error {
	var all []error
	check := func(ok bool, name, is, line, why string) {
		if !ok {
			all = append(all, &stream.SettingError{Where: "topic " + o.Topic, Setting: name, Is: is, Line: line, Why: why})
		}
	}
	check(len(t.Partitions) == 1, "partitions", strconv.Itoa(len(t.Partitions)), "a topic with 1 partition", "records of several partitions have no order")
	for _, p := range t.Partitions {
		n := len(p.Replicas)
		check(n >= 3 || o.AcceptFewerReplicas, "replication factor", strconv.Itoa(n), "replication factor 3", "the loss of one broker stops the log, and that of two loses it")
	}
	for _, c := range settings(o) {
		is, told := values[c.name]
		if !told {
			is = "not told by the brokers"
		}
		check(c.ok(values[c.name]), c.name, is, c.name+"="+c.is, c.why)
	}
	return errors.Join(all...)
}

// create makes the topic, and waits until the brokers know it.
func (s *Server) create(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(answerTime.Milliseconds())
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = s.topic, 1, 3
	if o.AcceptFewerReplicas {
		t.ReplicationFactor = 1
	}
	for _, c := range settings(o) {
		rc := kmsg.NewCreateTopicsRequestTopicConfig()
		rc.Name, rc.Value = c.name, new(c.is)
		t.Configs = append(t.Configs, rc)
	}
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		return err
	}
	if len(resp.Topics) != 1 {
		return errAnswer
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		if resp.Topics[0].ErrorMessage != nil {
			err = fmt.Errorf("%w: %s", err, *resp.Topics[0].ErrorMessage)
		}
		return err
	}
	for {
		_, err := s.find(ctx)
		if err == nil || sleep.For(ctx, 50*time.Millisecond) != nil {
			return err
		}
	}
}

// describe returns the settings of the topic, those that the brokers tell.
func (s *Server) describe(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, s.topic
	req.Resources = append(req.Resources, r)
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		return nil, err
	}
	if len(resp.Resources) != 1 {
		return nil, errAnswer
	}
	if err := kerr.ErrorForCode(resp.Resources[0].ErrorCode); err != nil {
		return nil, err
	}
	values := make(map[string]string)
	for _, c := range resp.Resources[0].Configs {
		if c.Value != nil {
			values[c.Name] = *c.Value
		}
	}
	return values, nil
}
