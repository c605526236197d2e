// This library has every operation, field, value and code of the OpenAPI document. So a change of the contract that the
// library does not follow fails here.
import { describe, expect, test } from "bun:test"
import { filesBelow, textOf } from "../../../scripts/repository.ts"
import { type Contract, currentContract } from "../../conformance/contractOf.ts"
import { Punctual } from "../src/Punctual.ts"
import { callsOf, fileOf } from "./ConformanceRun.ts"

/** Schemas that this library has under another name, or not at all, and why. */
const elsewhere: Readonly<Record<string, string>> = {
  HandlerTargetInput: "only for programs that contain the engine; the service refuses it",
  WebhookAnswer: "the handler writes it; its parts are Again, Retry and Dead",
}

/** Answers are read-only, so their fields say what is optional. Requests allow `undefined` and add the namespace. */
const isAnswer = (name: string, contract: Contract): boolean =>
  Object.values(contract.operations).some(({ answer }) => answer === name)

const contract = currentContract()

const source = ["sdks/typescript/src/contract", "sdks/typescript/src/webhook"]
  .flatMap((folder) => filesBelow(folder, ".ts"))
  .map(textOf)
  .join("\n")

interface Interface {
  readonly parents: ReadonlyArray<string>
  readonly fields: ReadonlyMap<string, { readonly isOptional: boolean }>
}

/** The interfaces of the sources. The formatter gives all of them the same form. */
const interfaces: ReadonlyMap<string, Interface> = new Map(
  [
    ...source.matchAll(/^export interface (\w+)(?:<[^{]*?>)?(?:\s+extends ([^{]+?))? \{(\}|\n[\s\S]*?^\})/gm),
  ].map(([, name = "", parents = "", body = ""]) => [
    name,
    {
      parents: [...parents.matchAll(/\b[A-Z]\w+/g)].map(([parent]) => parent),
      fields: new Map(
        [...body.matchAll(/^ {2}readonly (\w+)(\??):/gm)].map(([, field = "", mark]) => [
          field,
          { isOptional: mark === "?" },
        ]),
      ),
    },
  ]),
)

const fieldsOf = (name: string): ReadonlyMap<string, { readonly isOptional: boolean }> => {
  const found = interfaces.get(name)
  if (found === undefined) return new Map()
  return new Map([...found.parents.flatMap((parent) => [...fieldsOf(parent)]), ...found.fields])
}

test("contract.json is what the OpenAPI document says: bun sdks/conformance/contractOf.ts writes it", () => {
  expect(fileOf<Contract>("contract.json")).toEqual(contract)
})

test("there is a call for every operation", () => {
  const calls = callsOf(new Punctual({ url: "http://service.test", namespace: "billing" }))
  expect(Object.keys(calls).sort()).toEqual(Object.keys(contract.operations).sort())
})

test("there is a rule of repeats for every operation", () => {
  const { operations } = fileOf<{ operations: object }>("retries.json")
  expect(Object.keys(operations).sort()).toEqual(Object.keys(contract.operations).sort())
})

describe("every field exists", () => {
  for (const [schema, fields] of Object.entries(contract.schemas)) {
    if (schema in elsewhere) continue
    test(schema, () => {
      const found = fieldsOf(schema)
      expect(Object.keys(fields).filter((field) => !found.has(field))).toEqual([])
      if (!isAnswer(schema, contract)) return
      const optional = Object.keys(fields).filter((field) => fields[field]?.required === false)
      expect(optional.filter((field) => found.get(field)?.isOptional === false)).toEqual([])
    })
  }

  test("every schema that is elsewhere is a schema", () => {
    expect(Object.keys(elsewhere).filter((schema) => !(schema in contract.schemas))).toEqual([])
  })
})

test("every value of a listed text exists", () => {
  const values = Object.entries(contract.schemas).flatMap(([schema, fields]) =>
    schema in elsewhere ? [] : Object.values(fields).flatMap((field) => field.values ?? []),
  )
  expect([...new Set(values)].filter((value) => !source.includes(`"${value}"`))).toEqual([])
})

test("every code exists", () => {
  const [, codes = ""] = /export type ProblemCode =([^/]+)/.exec(source) ?? []
  const known = [...codes.matchAll(/"(\w+)"/g)].map(([, code]) => code)
  expect(contract.codes.filter((code) => !known.includes(code))).toEqual([])
})
