// The webhooks of the OpenAPI document beside what the service really sends, and what it makes of the documented answers.
import { expect, test } from "bun:test"
import { defaultLimits } from "@punctual/api/Limits"
import { PunctualApi } from "@punctual/api/PunctualApi"
import { OpenApi } from "effect/http-api"
import { interpretAnswer } from "../../../src/deliverers/webhook/interpretAnswer.ts"
import { webhookRequest } from "../../../src/deliverers/webhook/WebhookRequest.ts"
import type { WebhookTarget } from "../../../src/domain/Timer.ts"
import { OpenApiValidator } from "../../../testkit/OpenApiValidator.ts"

// biome-ignore lint/suspicious/noExplicitAny: the document is read by paths that the tests themselves check.
const document: any = JSON.parse(JSON.stringify(OpenApi.fromApi(PunctualApi)))
const fired = document.webhooks["timer.fired"].post
const validator = new OpenApiValidator(document)

const target: WebhookTarget = {
  type: "webhook",
  url: "http://127.0.0.1/hook",
  method: "POST",
  timeoutMs: 1_000,
  body: "envelope",
}
const fire = {
  namespace: "billing",
  timerId: "invoice-4711",
  fireId: "0194fdc2-fa2f-7fb1-8a3c-1b2c3d4e5f60",
  attempt: 3,
  maxAttempts: 10,
  epoch: 7,
  revision: 42,
  executeAt: 1_893_456_000_000,
  firedAt: 1_893_456_000_004,
  correlationId: "order-1",
  tags: ["trial"],
  target,
  payload: new TextEncoder().encode('{"n":1}'),
}
const request = webhookRequest(fire, target, fire.firedAt, [new Uint8Array(32)])

test("the body that is sent is as documented, and has no field that the document does not name", () => {
  const body = JSON.parse(new TextDecoder().decode(request.body))
  const { schema } = fired.requestBody.content["application/json"]
  expect(validator.errorsOf(schema, body)).toEqual([])
  const { properties } = document.components.schemas.TimerFired
  expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(body)))
})

test("the body of a call about a dead timer is as documented, and has no field that the document does not name", () => {
  const death = {
    timerId: "invoice-4711",
    fireId: fire.fireId,
    revision: 42,
    executeAt: fire.executeAt,
    reason: "attemptsExhausted",
    attempts: 10,
    lastAttempt: {
      at: fire.firedAt,
      durationMs: 5,
      status: 500,
      error: "answered 500",
      answer: "out of order",
    },
  }
  const call = {
    ...fire,
    timerId: `_dead.${fire.fireId}`,
    fireId: "0194fdc2-fa2f-7fb1-8a3c-1b2c3d4e5f61",
    death,
  }
  const sent = webhookRequest(call, target, fire.firedAt, [])
  const body = JSON.parse(new TextDecoder().decode(sent.body))
  expect(body).toMatchObject({ type: "timer.dead", timerId: "invoice-4711", reason: "attemptsExhausted" })
  const { schema } = document.webhooks["timer.dead"].post.requestBody.content["application/json"]
  expect(validator.errorsOf(schema, body)).toEqual([])
  const { properties } = document.components.schemas.TimerDead
  expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(body)))
})

test("the headers that are sent are documented, and those that are always sent are there", () => {
  const documented: ReadonlyArray<{ name: string; required: boolean }> = fired.parameters
  const sent = Object.keys(request.headers)
  const usual = ["user-agent", "content-type", "accept-encoding"]
  expect(documented.map(({ name }) => name)).toEqual(
    expect.arrayContaining(sent.filter((name) => !usual.includes(name))),
  )
  expect(sent).toEqual(
    expect.arrayContaining(documented.filter((one) => one.required).map(({ name }) => name)),
  )
})

test("the answers that are documented mean what the document says", () => {
  const { examples } = fired.responses["2XX"].content["application/json"]
  const meaningOf = (name: string) => {
    const text = JSON.stringify(examples[name].value)
    const answer = { status: 200, headers: new Headers(), body: { text, isCut: false } }
    return interpretAnswer(answer, fire.firedAt, defaultLimits.payloadBytes)
  }
  expect(meaningOf("delivered").kind).toBe("delivered")
  expect(meaningOf("again").kind).toBe("rearm")
  expect(meaningOf("retry")).toMatchObject({
    kind: "retry",
    next: { atMs: Date.parse("2030-01-01T10:00:00Z") },
  })
  for (const status of Object.keys(fired.responses).filter((one) => /^\d+$/.test(one))) {
    const answer = { status: Number(status), headers: new Headers(), body: undefined }
    expect(interpretAnswer(answer, fire.firedAt, 1)).toMatchObject({ kind: "dead", reason: "refused" })
  }
})
