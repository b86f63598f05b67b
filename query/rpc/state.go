package rpc

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// Info returns the definition and the state of one series.
func (s *Server) Info(ctx context.Context, req *rondov1.InfoRequest) (*rondov1.InfoResponse, error) {
	info, err := s.info(ctx, req.GetPath(), req.GetRef())
	if err != nil {
		return nil, err
	}
	answer := &rondov1.InfoResponse{
		Series:       seriesOf(info.Series, false),
		LastUpdateUs: int64(info.LastUpdate()),
	}
	m, err := core.MetadataOf(ctx, s.Store, info.Path)
	if err != nil {
		return nil, fail(err, "metadata of %.200q", info.Path)
	}
	if m.Time != 0 {
		answer.Metadata = types.SentMetadata(core.PathMetadata{Path: info.Path, Metadata: m})
	}
	units, err := s.unitsOf(info.Series)
	if err != nil {
		return nil, err
	}
	for i := range info.Definition.Sources {
		value, unknown := info.Machine.PDP(&info.State, i)
		answer.Sources = append(answer.Sources, &rondov1.SourceState{
			Name:           info.Definition.Sources[i].Name,
			LastReading:    info.Machine.LastReading(&info.State, i),
			Value:          value,
			UnknownSeconds: unknown,
			Unit:           units[i],
		})
	}
	for i := range info.Definition.Archives {
		a := &info.Definition.Archives[i]
		answer.Archives = append(answer.Archives, &rondov1.ArchiveState{DeltaPos: a.DeltaPos, DeltaNeg: a.DeltaNeg})
	}
	if s.ProblemsOf != nil {
		answer.Problems = s.ProblemsOf(info.Series)
	}
	return answer, nil
}

// Stats returns the counters of the store.
func (s *Server) Stats(ctx context.Context, _ *rondov1.StatsRequest) (*rondov1.StatsResponse, error) {
	if err := access.From(ctx).NeedAll(); err != nil {
		return nil, fail(err, "stats")
	}
	st := s.Store.Stats()
	answer := &rondov1.StatsResponse{
		Version:              s.Version,
		Series:               st.Series,
		SamplesAccepted:      st.SamplesAccepted,
		SamplesLate:          st.SamplesLate,
		SamplesRefused:       st.SamplesRefused,
		Batches:              st.Batches,
		Checkpoints:          st.Checkpoints,
		CheckpointSeconds:    st.CheckpointSeconds,
		CheckpointSecondsMax: st.CheckpointSecondsMax,
		LogBytes:             st.LogBytes,
		LogWrittenBytes:      st.LogWritten,
		LogFailures:          st.LogFailures,
		LogTornBytes:         st.LogTorn,
		DatabaseBytes:        st.DatabaseBytes,
		DatabaseFreeBytes:    st.DatabaseFree,
		MemoryBytes:          st.MemoryBytes,
		RowsStored:           st.RowsStored,
		ReplayedRecords:      st.ReplayedRecords,
		RecoverySeconds:      st.RecoverySeconds,
		GroupsLoaded:         st.GroupsLoaded,
		GroupsDropped:        st.GroupsDropped,
		Held:                 st.Held,
		Damaged:              st.Damaged,
	}
	if !s.Started.IsZero() { // no server runs
		answer.StartedUs = s.Started.UnixMicro()
	}
	return answer, nil
}

// Notes returns the events that are kept beside the series, such as collectd's notifications.
func (s *Server) Notes(ctx context.Context, req *rondov1.NotesRequest) (*rondov1.NotesResponse, error) {
	notes, err := s.view(ctx).Notes(ctx, req.GetKey())
	if err != nil {
		return nil, fail(err, "notes of %.200q", req.GetKey())
	}
	return &rondov1.NotesResponse{Notes: NotesOf(notes)}, nil
}

// NotesOf returns notes as messages, oldest first.
func NotesOf(notes map[string][]core.Note) []*typesv1.Note {
	var out []*typesv1.Note
	for key, ns := range notes {
		for _, n := range ns {
			out = append(out, types.SentNote(key, n))
		}
	}
	slices.SortStableFunc(out, func(a, b *typesv1.Note) int {
		return cmp.Or(cmp.Compare(a.GetTimeUs(), b.GetTimeUs()), cmp.Compare(a.GetKey(), b.GetKey()))
	})
	return out
}

// Checkpoint writes everything applied so far into the database.
func (s *Server) Checkpoint(ctx context.Context, _ *rondov1.CheckpointRequest) (*rondov1.CheckpointResponse, error) {
	start := time.Now()
	folder, err := core.FolderOf(s.Store, "checkpoint")
	if err != nil {
		return nil, coded(err)
	}
	if err := folder.Checkpoint(ctx); err != nil {
		return nil, fail(err, "checkpoint")
	}
	return &rondov1.CheckpointResponse{Seconds: time.Since(start).Seconds()}, nil
}
