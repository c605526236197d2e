import { describe, expect, test } from "bun:test"
import { readTelemetry } from "../src/telemetrySettings.ts"

const collector = "http://collector:4318"

const choiceOf = (texts: Readonly<Record<string, string>>) => {
  const { telemetry, problems } = readTelemetry(texts)
  expect(problems).toEqual([])
  return telemetry
}

describe("when traces and logs are exported", () => {
  test("nothing is exported unless the settings ask for it", () => {
    expect(choiceOf({})).toBeUndefined()
    expect(choiceOf({ OTEL_SERVICE_NAME: "x", OTEL_EXPORTER_OTLP_HEADERS: "a=b" })).toBeUndefined()
    expect(choiceOf({ OTEL_EXPORTER_OTLP_ENDPOINT: "" })).toBeUndefined()
  })

  test("an endpoint for all signals gets the path of each signal, and one for a signal is used as it is", () => {
    const both = choiceOf({ OTEL_EXPORTER_OTLP_ENDPOINT: `${collector}/base/` })
    expect(both?.traces?.endpoint.url).toBe(`${collector}/base/v1/traces`)
    expect(both?.logs?.endpoint.url).toBe(`${collector}/base/v1/logs`)
    const own = choiceOf({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector}/in?x=1` })
    expect(own?.traces?.endpoint.url).toBe(`${collector}/in?x=1`)
    expect(own?.logs).toBeUndefined()
  })

  test("an exporter that is named without an endpoint uses the usual one", () => {
    const choice = choiceOf({ OTEL_TRACES_EXPORTER: "otlp" })
    expect(choice?.traces?.endpoint.url).toBe("http://localhost:4318/v1/traces")
    expect(choice?.logs).toBeUndefined()
  })

  test("none and OTEL_SDK_DISABLED turn the export off", () => {
    const some = choiceOf({ OTEL_EXPORTER_OTLP_ENDPOINT: collector, OTEL_LOGS_EXPORTER: "none" })
    expect(some?.logs).toBeUndefined()
    expect(some?.traces).toBeDefined()
    expect(choiceOf({ OTEL_EXPORTER_OTLP_ENDPOINT: collector, OTEL_SDK_DISABLED: "true" })).toBeUndefined()
  })
})

test("each setting has its effect, and one for a signal goes before one for all", () => {
  const choice = choiceOf({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector,
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20abc, x-team=a",
    OTEL_EXPORTER_OTLP_LOGS_HEADERS: "x-team=b",
    OTEL_EXPORTER_OTLP_TIMEOUT: "2000",
    OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/protobuf",
    OTEL_SERVICE_NAME: "timers",
    OTEL_RESOURCE_ATTRIBUTES: "service.name=other,team=a%2Cb",
    OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
    OTEL_TRACES_SAMPLER_ARG: "0.25",
    OTEL_BSP_SCHEDULE_DELAY: "100",
    OTEL_BSP_MAX_QUEUE_SIZE: "300",
    OTEL_BLRP_MAX_EXPORT_BATCH_SIZE: "7",
  })
  expect(choice?.resource).toEqual({ "service.name": "timers", team: "a,b" })
  expect(choice?.traces).toEqual({
    endpoint: {
      url: `${collector}/v1/traces`,
      headers: { authorization: "Bearer abc", "x-team": "a" },
      timeoutMs: 2_000,
      isCompressed: true,
    },
    protocol: "http/protobuf",
    delayMs: 100,
    exportTimeoutMs: 30_000,
    queueRecords: 300,
    batchRecords: 300,
    sampler: { name: "parentbased_traceidratio", ratio: 0.25 },
  })
  expect(choice?.logs).toMatchObject({
    protocol: "http/json",
    batchRecords: 7,
    endpoint: { headers: { "x-team": "b" } },
  })
})

test("what is wrong or not supported is refused with the setting and the reason", () => {
  const problemOf = (texts: Readonly<Record<string, string>>) =>
    readTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: collector, ...texts }).problems
  expect(problemOf({ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" })).toEqual([
    'OTEL_EXPORTER_OTLP_PROTOCOL must be http/json or http/protobuf (gRPC is not supported; collectors take OTLP over HTTP on port 4318); it is "grpc".',
  ])
  const wrong: ReadonlyArray<readonly [string, string, RegExp]> = [
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", /^OTEL_EXPORTER_OTLP_ENDPOINT must be a URL/],
    ["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "ftp://x", /^OTEL_EXPORTER_OTLP_LOGS_ENDPOINT must be a URL/],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://u:secret@c", /must have no user and password/],
    ["OTEL_EXPORTER_OTLP_TIMEOUT", "10s", /must be a whole number from 1 to 3600000; it is "10s"\.$/],
    ["OTEL_EXPORTER_OTLP_COMPRESSION", "br", /must be none or gzip/],
    ["OTEL_TRACES_EXPORTER", "zipkin", /^OTEL_TRACES_EXPORTER must be otlp or none/],
    ["OTEL_SDK_DISABLED", "yes", /must be true or false/],
    ["OTEL_TRACES_SAMPLER", "xray", /^OTEL_TRACES_SAMPLER must be always_on or/],
    ["OTEL_RESOURCE_ATTRIBUTES", "team", /must be a list of name=value/],
    ["OTEL_BSP_MAX_QUEUE_SIZE", "0", /must be a whole number from 1 to 65536/],
    ["OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4096", /must not be greater than OTEL_BSP_MAX_QUEUE_SIZE/],
    ["OTEL_EXPORTER_OTLP_HEADERS", "content-type=text/plain", /must not set the header "content-type"\.$/],
  ]
  for (const [name, text, problem] of wrong) {
    expect(problemOf({ [name]: text })).toEqual([expect.stringMatching(problem)])
  }
  expect(problemOf({ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" })).toEqual([
    expect.stringMatching(/^OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1/),
  ])
})

test("neither a problem nor the settings in force show a header's value", () => {
  const texts = {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://user:secret@collector",
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=secret%0D",
    OTEL_EXPORTER_OTLP_LOGS_HEADERS: "secret",
  }
  const read = readTelemetry(texts)
  expect(read.problems).toHaveLength(3)
  expect(JSON.stringify(read)).not.toContain("secret")
  expect(read.effective).toMatchObject({ OTEL_EXPORTER_OTLP_HEADERS: "…" })
})

test("a setting of the exporter that is not supported causes a warning, and one for metrics does not", () => {
  const { warnings } = readTelemetry({
    OTEL_EXPORTER_OTLP_CERTIFICATE: "/x",
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://x",
    OTEL_EXPORTER_OTLP_HEADERS_FILE: "/y",
  })
  expect(warnings).toEqual(["OTEL_EXPORTER_OTLP_CERTIFICATE is not supported and has no effect."])
})
