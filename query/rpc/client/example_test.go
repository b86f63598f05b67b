package client_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/client"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// noon is the time of the first sample in the examples.
var noon = time.Unix(1_700_000_000, 0).UTC()

// server runs a server for an example, with a series web1/load that has two samples.
func server() (addr string, stop func()) {
	dir, err := os.MkdirTemp("", "rondo")
	if err != nil {
		log.Fatal(err)
	}
	store, err := core.Open(dir, core.Options{})
	if err != nil {
		log.Fatal(err)
	}
	s := &rpc.Server{Store: store, TailEvery: time.Millisecond, Evaluate: zero}
	mux := http.NewServeMux()
	mux.Handle(s.Handler(nil))
	h := httptest.NewServer(mux)
	c, err := client.New(h.URL, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	_, err = c.API.Create(context.Background(), &rondov1.CreateRequest{
		Path: "web1/load", Start: "1700000000", Labels: []*typesv1.Label{{Name: "host", Value: "web1"}},
		Definition: &rondov1.Definition{Step: 10, Ds: []string{"DS:load:GAUGE:20:0:U"}, Rra: []string{"10s for 1d"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.Write(context.Background(), []client.Sample{
		{Path: "web1/load", Time: noon.Add(10 * time.Second), Values: []float64{0.5}},
		{Path: "web1/load", Time: noon.Add(20 * time.Second), Values: []float64{1.5}},
	}, false)
	if err != nil {
		log.Fatal(err)
	}
	return h.URL, func() {
		h.Close()
		_ = store.Close()
		_ = os.RemoveAll(dir)
	}
}

// zero answers every expression with 0, in place of a server's PromQL.
func zero(_ context.Context, q rpc.Question) (*rondov1.QueryResponse, error) {
	times := []int64{q.End.UnixMicro()}
	if q.Step > 0 {
		times = []int64{q.Start.UnixMicro(), q.End.UnixMicro()}
	}
	return &rondov1.QueryResponse{Type: "vector", Series: []*rondov1.QuerySeries{{TimesUs: times, Values: make([]float64, len(times), 2)}}}, nil
}

func connected(addr string) *client.Client {
	c, err := client.New(addr, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return c
}

func ExampleNew() {
	c, err := client.New("https://rondo.example.com:9180", client.Options{Token: "from a file"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	_, err = client.New("ftp://rondo.example.com", client.Options{})
	fmt.Println(err)
	// Output: "ftp://rondo.example.com" is no address of a server: want http://HOST:PORT, https://HOST:PORT or unix:/PATH
}

func ExampleClient_Write() {
	addr, stop := server()
	defer stop()
	c := connected(addr)
	defer c.Close()
	w, err := c.Write(context.Background(), []client.Sample{
		{Path: "web1/load", Time: noon.Add(30 * time.Second), Values: []float64{2.5}},
		{Path: "nosuch", Values: []float64{1}},
	}, false)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.Accepted, "stored,", w.Refused, "refused:", w.Rejections)
	// Output: 1 stored, 1 refused: [{1 "nosuch": no such series}]
}

func ExampleClient_Fetch() {
	addr, stop := server()
	defer stop()
	c := connected(addr)
	defer c.Close()
	rows, err := c.Fetch(context.Background(), "web1/load", "AVERAGE", noon, noon.Add(19*time.Second), 0)
	if err != nil {
		log.Fatal(err)
	}
	for i := range rows.Len() {
		fmt.Println(rows.End(i).Unix(), rows.DS[0], rows.Value[0][i])
	}
	// Output:
	// 1700000010 load 0.5
	// 1700000020 load 1.5
}

func ExampleClient_List() {
	addr, stop := server()
	defer stop()
	c := connected(addr)
	defer c.Close()
	for s, err := range c.List(context.Background(), "web", &typesv1.Matcher{Name: "host", Op: "=~", Value: "web.*"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.GetPath(), s.GetDefinition().GetDs())
	}
	// Output: web1/load [DS:load:GAUGE:20:0:U]
}

func ExampleClient_Tail() {
	addr, stop := server()
	defer stop()
	c := connected(addr)
	defer c.Close()
	for rows, err := range c.Tail(context.Background(), &rondov1.TailRequest{Prefix: "web1/", Start: "1700000010"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(rows.Path, rows.End(0).Unix(), rows.Value[0][0])
		break
	}
	// Output: web1/load 1700000020 1.5
}

func ExampleClient_Query() {
	addr, stop := server()
	defer stop()
	c := connected(addr)
	defer c.Close()
	answer, err := c.Query(context.Background(), `sum({host="web1"})`, noon)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.GetType(), answer.GetSeries()[0].GetTimesUs(), answer.GetSeries()[0].GetValues())
	// Output: vector [1700000000000000] [0]
}

func ExampleClient_QueryRange() {
	addr, stop := server()
	defer stop()
	c := connected(addr)
	defer c.Close()
	answer, err := c.QueryRange(context.Background(), `sum({host="web1"})`, noon, noon.Add(10*time.Second), 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.GetSeries()[0].GetTimesUs())
	// Output: [1700000000000000 1700000010000000]
}

func ExampleClient_Backup() {
	addr, stop := server()
	defer stop()
	c := connected(addr)
	defer c.Close()
	var file bytes.Buffer
	if err := c.Backup(context.Background(), &file); err != nil {
		log.Fatal(err)
	}
	fmt.Println(file.Len() > 100)
	// Output: true
}
