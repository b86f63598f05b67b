package rpc

import (
	"context"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// An API has the methods of the service Rondo that answer a request with one message. A client of a
// server has them, and so has a [Server] over a store of this process.
type API interface {
	Write(ctx context.Context, req *connect.Request[rondov1.WriteRequest]) (*connect.Response[rondov1.WriteResponse], error)
	Create(ctx context.Context, req *connect.Request[rondov1.CreateRequest]) (*connect.Response[rondov1.CreateResponse], error)
	Drop(ctx context.Context, req *connect.Request[rondov1.DropRequest]) (*connect.Response[rondov1.DropResponse], error)
	Rename(ctx context.Context, req *connect.Request[rondov1.RenameRequest]) (*connect.Response[rondov1.RenameResponse], error)
	Fetch(ctx context.Context, req *connect.Request[rondov1.FetchRequest]) (*connect.Response[rondov1.FetchResponse], error)
	List(ctx context.Context, req *connect.Request[rondov1.ListRequest]) (*connect.Response[rondov1.ListResponse], error)
	Labels(ctx context.Context, req *connect.Request[rondov1.LabelsRequest]) (*connect.Response[rondov1.LabelsResponse], error)
	Info(ctx context.Context, req *connect.Request[rondov1.InfoRequest]) (*connect.Response[rondov1.InfoResponse], error)
	Stats(ctx context.Context, req *connect.Request[rondov1.StatsRequest]) (*connect.Response[rondov1.StatsResponse], error)
	Notes(ctx context.Context, req *connect.Request[rondov1.NotesRequest]) (*connect.Response[rondov1.NotesResponse], error)
	Metadata(ctx context.Context, req *connect.Request[rondov1.MetadataRequest]) (*connect.Response[rondov1.MetadataResponse], error)
	Search(ctx context.Context, req *connect.Request[rondov1.SearchRequest]) (*connect.Response[rondov1.SearchResponse], error)
	Tree(ctx context.Context, req *connect.Request[rondov1.TreeRequest]) (*connect.Response[rondov1.TreeResponse], error)
	Hosts(ctx context.Context, req *connect.Request[rondov1.HostsRequest]) (*connect.Response[rondov1.HostsResponse], error)
	Charts(ctx context.Context, req *connect.Request[rondov1.ChartsRequest]) (*connect.Response[rondov1.ChartsResponse], error)
	FetchMany(ctx context.Context, req *connect.Request[rondov1.FetchManyRequest]) (*connect.Response[rondov1.FetchManyResponse], error)
	Dashboards(ctx context.Context, req *connect.Request[rondov1.DashboardsRequest]) (*connect.Response[rondov1.DashboardsResponse], error)
	Dashboard(ctx context.Context, req *connect.Request[rondov1.DashboardRequest]) (*connect.Response[rondov1.DashboardResponse], error)
	SaveDashboard(ctx context.Context, req *connect.Request[rondov1.SaveDashboardRequest]) (*connect.Response[rondov1.SaveDashboardResponse], error)
	DropDashboard(ctx context.Context, req *connect.Request[rondov1.DropDashboardRequest]) (*connect.Response[rondov1.DropDashboardResponse], error)
	Status(ctx context.Context, req *connect.Request[rondov1.StatusRequest]) (*connect.Response[rondov1.StatusResponse], error)
	Alerts(ctx context.Context, req *connect.Request[rondov1.AlertsRequest]) (*connect.Response[rondov1.AlertsResponse], error)
	Latest(ctx context.Context, req *connect.Request[rondov1.LatestRequest]) (*connect.Response[rondov1.LatestResponse], error)
	Checkpoint(ctx context.Context, req *connect.Request[rondov1.CheckpointRequest]) (*connect.Response[rondov1.CheckpointResponse], error)
	Alter(ctx context.Context, req *connect.Request[rondov1.AlterRequest]) (*connect.Response[rondov1.AlterResponse], error)
	Tune(ctx context.Context, req *connect.Request[rondov1.TuneRequest]) (*connect.Response[rondov1.TuneResponse], error)
	SetMetadata(ctx context.Context, req *connect.Request[rondov1.SetMetadataRequest]) (*connect.Response[rondov1.SetMetadataResponse], error)
	Import(ctx context.Context, req *connect.Request[rondov1.ImportFileRequest]) (*connect.Response[rondov1.ImportFileResponse], error)
	Export(ctx context.Context, req *connect.Request[rondov1.ExportFileRequest]) (*connect.Response[rondov1.ExportFileResponse], error)
	Query(ctx context.Context, req *connect.Request[rondov1.QueryRequest]) (*connect.Response[rondov1.QueryResponse], error)
	Xport(ctx context.Context, req *connect.Request[rondov1.XportRequest]) (*connect.Response[rondov1.XportResponse], error)
}
