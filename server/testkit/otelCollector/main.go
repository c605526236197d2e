// The OpenTelemetry Collector with its receiver for OTLP over HTTP, for tests. It writes what it took to stdout, as one
// line of JSON for each request. The first argument is the address to listen on.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
)

const config = `
receivers: {otlp: {protocols: {http: {endpoint: "%s"}}}}
exporters: {lines: {}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], exporters: [lines]}
    logs: {receivers: [otlp], exporters: [lines]}
`

// lines writes each request that the receiver took.
type lines struct {
	component.StartFunc
	component.ShutdownFunc
}

var writing sync.Mutex

func write(text []byte, err error) error {
	if err != nil {
		return err
	}
	writing.Lock()
	defer writing.Unlock()
	_, err = os.Stdout.Write(append(text, '\n'))
	return err
}

func (lines) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (lines) ConsumeTraces(_ context.Context, traces ptrace.Traces) error {
	return write((&ptrace.JSONMarshaler{}).MarshalTraces(traces))
}

func (lines) ConsumeLogs(_ context.Context, logs plog.Logs) error {
	return write((&plog.JSONMarshaler{}).MarshalLogs(logs))
}

func factories() (otelcol.Factories, error) {
	receivers, err := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	if err != nil {
		return otelcol.Factories{}, err
	}
	writer := exporter.NewFactory(
		component.MustNewType("lines"),
		func() component.Config { return &struct{}{} },
		exporter.WithTraces(func(context.Context, exporter.Settings, component.Config) (exporter.Traces, error) {
			return lines{}, nil
		}, component.StabilityLevelStable),
		exporter.WithLogs(func(context.Context, exporter.Settings, component.Config) (exporter.Logs, error) {
			return lines{}, nil
		}, component.StabilityLevelStable),
	)
	exporters, err := otelcol.MakeFactoryMap[exporter.Factory](writer)
	return otelcol.Factories{Receivers: receivers, Exporters: exporters}, err
}

func main() {
	collector, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector", Version: "1"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{
			ResolverSettings: confmap.ResolverSettings{
				URIs:              []string{"yaml:" + fmt.Sprintf(config, os.Args[1])},
				ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
				DefaultScheme:     "yaml",
			},
		},
	})
	if err == nil {
		err = collector.Run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
