/**
 * The last touches to the generated OpenAPI document, for what the definition of the API cannot express:
 * problem schemas under names a reader expects, the Retry-After header, and answers that are open. A
 * request with an unknown field is refused, but answers may gain fields within version 1, and a client
 * generated from a closed schema would break on the first one.
 */
type Json = { readonly [key: string]: unknown }

const refPrefix = "#/components/schemas/"

export const finishDocument = (document: Record<string, unknown>): Record<string, unknown> => {
  const renamed = nameItemsOfCreateMany(renameProblems(document))
  const schemas = at(renamed, "components", "schemas")
  const closed = new Set<string>()
  for (const operation of operationsOf(renamed)) collectRefs(operation["requestBody"], schemas, closed)
  return {
    ...renamed,
    components: {
      ...at(renamed, "components"),
      schemas: mapValues(schemas, (schema, name) => (closed.has(name) ? schema : open(schema))),
    },
  }
}

/** Completes one operation: an example of its body, and the header that says when to come again. */
export const finishOperation =
  (example: Json) =>
  (operation: Record<string, unknown>): Record<string, unknown> => {
    const jsonBody = at(operation, "requestBody", "content", "application/json")
    const requestBody = {
      ...at(operation, "requestBody"),
      content: { "application/json": { ...jsonBody, example } },
    }
    const responses = mapValues(at(operation, "responses"), (response, status) =>
      status === "429" || status === "503" ? { ...asJson(response), headers: retryAfter } : response,
    )
    return { ...operation, requestBody, responses }
  }

const retryAfter = {
  "retry-after": {
    required: true,
    description: "After how many seconds to try again.",
    schema: { type: "integer", minimum: 0 },
  },
}

/** The generator names the wire form of an error class `XEncoded`; to a reader it is the problem itself. */
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

/** The items of createMany are decoded one by one, so their schema is known to its reader only. */
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
