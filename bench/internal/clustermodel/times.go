package clustermodel

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// A Time is a service time, or another constant of the model.
type Time struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	What  string  `json:"what"`
	From  string  `json:"from"` // measured, or fitted
	How   string  `json:"how"`  // the command that measures it
}

// Times are all constants of the model, by their names in a file.
type Times struct {
	all []Time
	set set
}

// A set has the values. Names are the file's.
type set struct {
	senderBatch, senderPart, senderSample float64
	receiveSample                         float64

	takePart, takeSample                  float64
	logMessage                            float64
	applyRecord, applySample, largeSample float64
	followRound                           float64
	nodeIdle                              float64

	serverMessage, serverByte, serverRead float64
	serverIdle                            float64

	sync, syncs, stall, stallShare float64
	network                        float64

	rawSample, logSample, logMessageBytes float64
	spread, slice                         float64
}

// fields are the values by name.
func (s *set) fields() map[string]*float64 {
	return map[string]*float64{
		"sender_batch": &s.senderBatch, "sender_part": &s.senderPart, "sender_sample": &s.senderSample,
		"receive_sample": &s.receiveSample,
		"take_part":      &s.takePart, "take_sample": &s.takeSample, "log_message": &s.logMessage,
		"apply_record": &s.applyRecord, "apply_sample": &s.applySample, "large_sample": &s.largeSample,
		"follow_round": &s.followRound, "node_idle": &s.nodeIdle,
		"server_message": &s.serverMessage, "server_byte": &s.serverByte, "server_read": &s.serverRead, "server_idle": &s.serverIdle,
		"sync": &s.sync, "syncs": &s.syncs, "stall": &s.stall, "stall_share": &s.stallShare, "network": &s.network,
		"raw_sample": &s.rawSample, "log_sample": &s.logSample, "log_message_bytes": &s.logMessageBytes,
		"spread": &s.spread, "slice": &s.slice,
	}
}

//go:embed times.json
var stored []byte

// Stored returns the times that were measured for bench/README.md.
func Stored() (Times, error) { return Times{}.With(stored) }

// With returns the times with those that a file names replaced. A file is a list of Time; of each
// only the name and the value are needed. The first file must name all.
func (t Times) With(file []byte) (Times, error) {
	d := json.NewDecoder(bytes.NewReader(file))
	d.DisallowUnknownFields()
	var list []Time
	if err := d.Decode(&list); err != nil {
		return t, fmt.Errorf("service times: want a list of names and values: %w", err)
	}
	first := t.all == nil
	t.all = slices.Clone(t.all)
	fields := t.set.fields()
	for _, x := range list {
		f := fields[x.Name]
		if f == nil {
			return t, fmt.Errorf("service times: there is no %q", x.Name)
		}
		if !(x.Value >= 0) || math.IsInf(x.Value, 0) {
			return t, fmt.Errorf("service times: %s is %v: want 0 or more", x.Name, x.Value)
		}
		*f = x.Value
		i := slices.IndexFunc(t.all, func(o Time) bool { return o.Name == x.Name })
		switch {
		case i < 0:
			t.all = append(t.all, x)
		case x.What == "": // a file of names and values
			t.all[i].Value, t.all[i].From, t.all[i].How = x.Value, "given", ""
		default:
			t.all[i] = x
		}
	}
	if first && len(t.all) != len(fields) {
		return t, fmt.Errorf("service times: %d are named, want all %d", len(t.all), len(fields))
	}
	return t, nil
}

// List returns all times with what they are.
func (t Times) List() []Time { return slices.Clone(t.all) }
