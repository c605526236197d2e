// A log line is one JSON object for machines, and one readable line for people.
import { expect, test } from "bun:test"
import { formatForPeople, formatJson, type LogLine } from "../../src/program/Logs.ts"

const line: LogLine = {
  at: new Date("2030-01-01T09:00:00.123Z"),
  level: "Warn",
  message: "something\nhappened",
  annotations: { correlationId: "order-1", attempt: 2 },
}

test("for machines: one line, with annotations beside the fixed fields", () => {
  const text = formatJson(line)
  expect(text).not.toContain("\n")
  expect(JSON.parse(text)).toEqual({
    time: "2030-01-01T09:00:00.123Z",
    level: "warn",
    message: "something\nhappened",
    correlationId: "order-1",
    attempt: 2,
  })
})

test("an annotation cannot overwrite a fixed field", () => {
  expect(JSON.parse(formatJson({ ...line, annotations: { level: "x", message: "y" } }))).toMatchObject({
    level: "warn",
    message: "something\nhappened",
  })
})

test("for people: time, level, message, then the annotations", () => {
  expect(formatForPeople({ ...line, message: "late" })).toBe(
    "09:00:00.123 WARN  late correlationId=order-1 attempt=2",
  )
})
