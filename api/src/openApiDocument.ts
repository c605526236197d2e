/**
 * Completes the generated OpenAPI document with what the definition of the API cannot express: readable names of
 * problem schemas, examples, response headers, patterns of instants and durations, webhooks, the paths beside the API,
 * and open answers. The service refuses requests with unknown fields, but answers may get more fields within version 1.
 * A client that is generated from a closed schema would fail on the first new field.
 */
import { answerExamples } from "./answerExamples.ts"
import type { CallTerms } from "./CallTerms.ts"
import { durationFormat, durationPattern } from "./DurationMs.ts"
import { instantPattern } from "./Instant.ts"
import { problemExamples } from "./problemExamples.ts"
import { orderedTags, sitePaths } from "./sitePaths.ts"
import { eventPaths } from "./TimerEvents.ts"
import { webhookOperations, webhookSchemas } from "./webhookOperations.ts"

type Json = { readonly [key: string]: unknown }

/** The action that the key of the caller needs. */
export const actionField = "x-punctual-action"

const securitySchemes = {
  key: {
    type: "http",
    scheme: "bearer",
    description:
      "A key of the service, such as pnct_7sKq20XbnR_…. A service without keys needs none. Each call names the action that the key needs.",
  },
}

const refPrefix = "#/components/schemas/"

/** What an API has besides the endpoints of its definition. */
export interface DocumentParts {
  /** By the operation's id. */
  readonly answerExamples: Readonly<Record<string, Json>>
  readonly morePaths: Json
  readonly moreSchemas: Json
  readonly webhooks: Json
  readonly tagsOf: (tags: ReadonlyArray<Json>) => ReadonlyArray<Json>
}

export const finishDocument = (document: Record<string, unknown>): Record<string, unknown> =>
  finishedDocument(nameItemsOfCreateMany(document), {
    answerExamples,
    morePaths: { ...eventPaths(actionField), ...sitePaths },
    moreSchemas: webhookSchemas(),
    webhooks: webhookOperations,
    tagsOf: orderedTags,
  })

export const finishedDocument = (document: Json, parts: DocumentParts): Record<string, unknown> => {
  const renamed = renameProblems(document)
  const schemas = { ...at(renamed, "components", "schemas"), ...parts.moreSchemas }
  const closed = new Set<string>()
  for (const operation of operationsOf(renamed)) collectRefs(operation["requestBody"], schemas, closed)
  const opened = mapValues(schemas, (schema, name) => (closed.has(name) ? schema : open(schema)))
  const codes = mapValues(opened, (schema) => codeOf(schema))
  const paths = mapValues(at(renamed, "paths"), (path) =>
    mapValues(asJson(path), (operation) => withExamples(asJson(operation), codes, parts.answerExamples)),
  )
  const tags = renamed["tags"]
  return {
    ...renamed,
    tags: parts.tagsOf(Array.isArray(tags) ? tags : []),
    paths: { ...paths, ...parts.morePaths },
    webhooks: parts.webhooks,
    // A service without keys is called without one.
    security: [{ key: [] }, {}],
    components: {
      ...at(renamed, "components"),
      schemas: asJson(withPatterns(opened)),
      securitySchemes,
      examples: examplesOf(new Set([...Object.values(codes), ...codesOfNoCall])),
    },
  }
}

/** Completes one operation: an example of its body, headers of its failures, and the key that it needs. */
export const finishOperation =
  (example: Json | undefined, { action, needsNoKey }: CallTerms["Service"]) =>
  (operation: Record<string, unknown>): Record<string, unknown> => {
    const jsonBody = at(operation, "requestBody", "content", "application/json")
    const requestBody =
      example === undefined
        ? {}
        : {
            requestBody: {
              ...at(operation, "requestBody"),
              content: { "application/json": { ...jsonBody, example } },
            },
          }
    const responses = mapValues(at(operation, "responses"), (response, status) => {
      const headers = headersByStatus[status]
      return headers === undefined ? response : { ...asJson(response), headers }
    })
    const key = needsNoKey === true ? { security: [] } : action === "none" ? {} : { [actionField]: action }
    return { ...operation, ...key, ...requestBody, responses }
  }

const retryAfter = {
  "retry-after": {
    required: true,
    description: "Retry after this many seconds.",
    schema: { type: "integer", minimum: 0 },
  },
}

const headersByStatus: Readonly<Record<string, Json>> = {
  "405": {
    allow: {
      required: true,
      description: "The methods that the path accepts.",
      schema: { type: "string", examples: ["POST"] },
    },
  },
  "429": retryAfter,
  "503": retryAfter,
}

/** Adds an example answer, and for each failure an example of every possible problem. */
const withExamples = (operation: Json, codes: Json, answers: DocumentParts["answerExamples"]): Json => {
  const example = answers[String(operation["operationId"])]
  const responses = mapValues(at(operation, "responses"), (response, status) => {
    const content = mapValues(at(asJson(response), "content"), (body) => {
      if (status.startsWith("2")) return example === undefined ? body : { ...asJson(body), example }
      const examples = namesIn(asJson(body)["schema"]).flatMap((name) => {
        const code = codes[name]
        return typeof code === "string" ? [[code, { $ref: `#/components/examples/${code}` }]] : []
      })
      return { ...asJson(body), examples: Object.fromEntries(examples) }
    })
    return { ...asJson(response), content }
  })
  return { ...operation, responses }
}

/** Problems of requests that reach no call. */
const codesOfNoCall = ["notFound", "methodNotAllowed", "requestTimeout"]

/** An example for each of these codes. A product does not show the codes of others. */
const examplesOf = (codes: ReadonlySet<unknown>): Json =>
  Object.fromEntries(
    Object.entries(problemExamples)
      .filter(([code]) => codes.has(code))
      .map(([code, value]) => [code, { summary: code, value }]),
  )

/** The code of a problem's schema. */
const codeOf = (schema: unknown): unknown => {
  const allowed = at(asJson(schema), "properties", "code")["enum"]
  return Array.isArray(allowed) ? allowed[0] : undefined
}

/** The names of the schemas that a schema refers to directly. */
const namesIn = (schema: unknown): ReadonlyArray<string> => {
  const { $ref, anyOf } = asJson(schema)
  if (typeof $ref === "string") return [$ref.slice(refPrefix.length)]
  return Array.isArray(anyOf) ? anyOf.flatMap(namesIn) : []
}

/** Adds patterns to instants and durations. Their schemas have none, because the program parses them by hand. */
const withPatterns = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withPatterns)
  if (!isJson(value)) return value
  const { format, ...rest } = mapValues(value, withPatterns)
  if (format === durationFormat) return { ...rest, pattern: durationPattern }
  if (format === "date-time") return { ...rest, format, pattern: instantPattern }
  return format === undefined ? rest : { ...rest, format }
}
/** The generator names the wire form of an error class `XEncoded`. Readers expect `XProblem`. */
const renameProblems = (document: Json): Json => {
  const schemas = at(document, "components", "schemas")
  const nameOf = (name: string) => (name.endsWith("Encoded") ? `${name.slice(0, -7)}Problem` : name)
  const rename = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rename)
    if (!isJson(value)) return value
    return mapValues(value, (inner, key) =>
      key === "$ref" && typeof inner === "string" && inner.startsWith(refPrefix)
        ? refPrefix + nameOf(inner.slice(refPrefix.length))
        : rename(inner),
    )
  }
  const renamed = Object.entries(schemas).map(([name, schema]) => [nameOf(name), rename(schema)] as const)
  return {
    ...asJson(rename({ ...document, components: {} })),
    components: { ...at(document, "components"), schemas: Object.fromEntries(renamed) },
  }
}

/** The service decodes the items of createMany separately, so the generator does not know their schema. */
const nameItemsOfCreateMany = (document: Json): Json => {
  const schemas = at(document, "components", "schemas")
  const body = at(schemas, "CreateManyTimers")
  const timers = { ...at(body, "properties", "timers"), items: { $ref: `${refPrefix}CreateTimer` } }
  return {
    ...document,
    components: {
      ...at(document, "components"),
      schemas: { ...schemas, CreateManyTimers: { ...body, properties: { timers } } },
    },
  }
}

const operationsOf = (document: Json): ReadonlyArray<Json> =>
  Object.values(at(document, "paths")).flatMap((path) => Object.values(asJson(path)).map(asJson))

const collectRefs = (value: unknown, schemas: Json, found: Set<string>): void => {
  if (typeof value !== "object" || value === null) return
  const ref = asJson(value)["$ref"]
  const name = typeof ref === "string" && ref.startsWith(refPrefix) ? ref.slice(refPrefix.length) : undefined
  if (name === undefined) {
    for (const inner of Object.values(value)) collectRefs(inner, schemas, found)
  } else if (!found.has(name)) {
    found.add(name)
    collectRefs(schemas[name], schemas, found)
  }
}

const open = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(open)
  if (!isJson(value)) return value
  const { additionalProperties, ...rest } = value
  return mapValues(additionalProperties === false ? rest : value, open)
}

const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const asJson = (value: unknown): Json => (isJson(value) ? value : {})

const at = (value: Json, ...path: ReadonlyArray<string>): Json =>
  path.reduce<Json>((inner, key) => asJson(inner[key]), value)

const mapValues = (value: Json, f: (inner: unknown, key: string) => unknown): Json =>
  Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, f(inner, key)]))
