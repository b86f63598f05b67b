// Command otlp sends metrics as a program with OpenTelemetry's SDK does, for tests of rondo:
//
//	go run ./otlp http://127.0.0.1:9180/v1/metrics
//
// It exports three times: 3 of a counter each time, in one attribute's series, a gauge, and ten
// readings of a histogram. It is a module of its own, so that rondo does not link the SDK.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
)

func main() {
	if err := send(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// send exports to the URL in args. With a second argument, "delta", counters are sent as
// differences.
func send(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: otlp URL [delta]")
	}
	temporality := sdk.DefaultTemporalitySelector
	if len(args) > 1 && args[1] == "delta" {
		temporality = func(sdk.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }
	}
	exporter, err := otlpmetrichttp.New(ctx,
		otlpmetrichttp.WithEndpointURL(args[0]),
		otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression),
		otlpmetrichttp.WithTemporalitySelector(temporality),
	)
	if err != nil {
		return err
	}
	provider := sdk.NewMeterProvider(
		sdk.WithReader(sdk.NewPeriodicReader(exporter, sdk.WithInterval(time.Hour))),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "shop"), attribute.String("service.instance.id", "one"), attribute.String("os.type", "linux"),
		)),
	)
	if err := measure(ctx, provider); err != nil {
		return err
	}
	return provider.Shutdown(ctx)
}

// measure measures and exports three times.
func measure(ctx context.Context, provider *sdk.MeterProvider) error {
	meter := provider.Meter("test")
	orders, err := meter.Int64Counter("orders", metric.WithDescription("what was ordered"))
	if err != nil {
		return err
	}
	queue, err := meter.Float64Gauge("queue.length", metric.WithUnit("{order}"))
	if err != nil {
		return err
	}
	latency, err := meter.Float64Histogram("latency", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(0.1, 1))
	if err != nil {
		return err
	}
	for round := range 3 {
		orders.Add(ctx, 3, metric.WithAttributes(attribute.String("payment.method", "card")))
		queue.Record(ctx, float64(round)+0.5)
		for i := range 10 {
			latency.Record(ctx, float64(i)*0.15)
		}
		if err := provider.ForceFlush(ctx); err != nil {
			return err
		}
	}
	return nil
}
