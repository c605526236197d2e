// The part of the OpenAPI document that every library must have, in a form that any language reads in a few lines:
// operations, fields and codes. `bun sdks/conformance/contractOf.ts` writes contract.json, and a test compares the two.
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { PunctualApi } from "@punctual/api/PunctualApi"
import { OpenApi } from "effect/http-api"

export interface ContractField {
  readonly required: boolean
  /** The texts that the field may be, if they are listed. */
  readonly values?: ReadonlyArray<string>
}

export interface Contract {
  /** By id: the names of the request and of the answer, if they have one. */
  readonly operations: Readonly<Record<string, { readonly request?: string; readonly answer?: string }>>
  /** The fields of requests, answers and what they contain, by the name of the schema. */
  readonly schemas: Readonly<Record<string, Readonly<Record<string, ContractField>>>>
  readonly codes: ReadonlyArray<string>
}

type Json = Readonly<Record<string, unknown>>

const asJson = (value: unknown): Json => (typeof value === "object" && value !== null ? (value as Json) : {})

const at = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce((inner, name) => asJson(inner)[name], value)

const nameOf = (schema: unknown): string | undefined => {
  const ref = at(schema, "$ref")
  return typeof ref === "string" ? ref.slice(ref.lastIndexOf("/") + 1) : undefined
}

const fieldsOf = (schema: unknown): Readonly<Record<string, ContractField>> => {
  const required = at(schema, "required")
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name)
  return Object.fromEntries(
    Object.entries(asJson(at(schema, "properties"))).map(([name, field]) => {
      const values = at(field, "enum") ?? at(field, "items", "enum")
      const texts = Array.isArray(values) ? values.filter((value) => typeof value === "string") : []
      return [name, { required: isRequired(name), ...(texts.length === 0 ? {} : { values: texts }) }]
    }),
  )
}

/** Schemas of problems are told by their codes. */
const isProblem = (name: string): boolean => name.endsWith("Problem")

export const contractOf = (document: unknown): Contract => {
  const content = ["content", "application/json", "schema"]
  const operations = Object.entries(asJson(at(document, "paths"))).flatMap(([path, methods]) =>
    path.startsWith("/api/")
      ? Object.values(asJson(methods)).map((operation) => {
          const request = nameOf(at(operation, "requestBody", ...content))
          const answer = nameOf(at(operation, "responses", "200", ...content))
          const names = {
            ...(request === undefined ? {} : { request }),
            ...(answer === undefined ? {} : { answer }),
          }
          return [String(at(operation, "operationId")), names] as const
        })
      : [],
  )
  const schemas = Object.entries(asJson(at(document, "components", "schemas")))
  const withFields = schemas.filter(
    ([name, schema]) => !isProblem(name) && at(schema, "properties") !== undefined,
  )
  const codes = schemas.flatMap(([, schema]) => {
    const found = at(schema, "properties", "code", "enum")
    return Array.isArray(found) ? found.map(String) : []
  })
  return {
    operations: Object.fromEntries(operations.sort(byName)),
    schemas: Object.fromEntries(
      withFields.map(([name, schema]) => [name, fieldsOf(schema)] as const).sort(byName),
    ),
    codes: [...new Set(codes)].sort(),
  }
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1)

export const currentContract = (): Contract =>
  contractOf(JSON.parse(JSON.stringify(OpenApi.fromApi(PunctualApi))))

if (import.meta.main) {
  const file = fileURLToPath(new URL("contract.json", import.meta.url))
  writeFileSync(file, `${JSON.stringify(currentContract(), null, 2)}\n`)
}
