import { expect, test } from "bun:test"
import { otlpJson } from "../src/otlpJson.ts"
import { otlpProtobuf } from "../src/otlpProtobuf.ts"
import type { EndedSpan } from "../src/TelemetryRecords.ts"

const context = {
  traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
  spanId: "00f067aa0ba902b7",
  isSampled: true,
}

const span: EndedSpan = {
  context,
  parent: { ...context, spanId: "1111111111111111" },
  link: { ...context, spanId: "2222222222222222", isSampled: false },
  name: "deliver webhook",
  kind: "client",
  startMicros: 1_794_972_296_924_123,
  endMicros: 1_794_972_296_925_000,
  attributes: { text: "ä\ud800", whole: -3, part: 1.5, is: true, absent: undefined },
  error: "timeout",
}

const bodyOf = (records: ReadonlyArray<Uint8Array>, signal: "traces" | "logs" = "traces"): unknown =>
  JSON.parse(new TextDecoder().decode(otlpJson.body(signal, { "service.name": "x" }, records)))

test("a span in JSON has the names and forms of OTLP", () => {
  expect(bodyOf([otlpJson.span(span)])).toEqual({
    resourceSpans: [
      {
        resource: { attributes: [{ key: "service.name", value: { stringValue: "x" } }] },
        scopeSpans: [
          {
            scope: { name: "punctual" },
            spans: [
              {
                traceId: context.traceId,
                spanId: context.spanId,
                parentSpanId: "1111111111111111",
                flags: 0x301,
                name: "deliver webhook",
                kind: 3,
                startTimeUnixNano: "1794972296924123000",
                endTimeUnixNano: "1794972296925000000",
                attributes: [
                  // A part of a character would make a receiver refuse the batch.
                  { key: "text", value: { stringValue: "ä\ufffd" } },
                  { key: "whole", value: { intValue: "-3" } },
                  { key: "part", value: { doubleValue: 1.5 } },
                  { key: "is", value: { boolValue: true } },
                ],
                links: [{ traceId: context.traceId, spanId: "2222222222222222", flags: 0x300 }],
                status: { code: 2, message: "timeout" },
              },
            ],
          },
        ],
      },
    ],
  })
})

test("a body has all of its records, or none", () => {
  const one = otlpJson.log({ atMs: 1, severity: 9, severityText: "INFO", message: "m", attributes: {} })
  for (const count of [0, 1, 3]) {
    expect(
      bodyOf(
        Array.from({ length: count }, () => one),
        "logs",
      ),
    ).toMatchObject({
      resourceLogs: [{ scopeLogs: [{ logRecords: Array.from({ length: count }, () => ({ body: {} })) }] }],
    })
  }
})

test("no record is large, whatever it is made from", () => {
  const long = "x".repeat(1_000_000)
  const log = { atMs: 1, severity: 9, severityText: "INFO", message: long, attributes: { cause: long } }
  for (const encoding of [otlpJson, otlpProtobuf]) {
    expect(encoding.log(log).length).toBeLessThan(30_000)
    expect(encoding.span({ ...span, name: long, attributes: { long }, error: long }).length).toBeLessThan(
      15_000,
    )
  }
})
