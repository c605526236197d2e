module punctual/collector

go 1.24

require (
	go.opentelemetry.io/collector/component v0.120.0
	go.opentelemetry.io/collector/confmap v1.26.0
	go.opentelemetry.io/collector/confmap/provider/yamlprovider v1.26.0
	go.opentelemetry.io/collector/consumer v1.26.0
	go.opentelemetry.io/collector/exporter v0.120.0
	go.opentelemetry.io/collector/otelcol v0.120.0
	go.opentelemetry.io/collector/pdata v1.26.0
	go.opentelemetry.io/collector/receiver v0.120.0
	go.opentelemetry.io/collector/receiver/otlpreceiver v0.120.0
)
