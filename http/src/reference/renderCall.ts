// Renders one call of the reference: its description, fields and problems on the left, and examples on the right.
import { actionField } from "@punctual/api/openApiDocument"
import { colouredJson, escapeHtml, prettyJson, prose } from "./html.ts"
import {
  type Body,
  bodyOf,
  type DocumentedAnswer,
  nameInRef,
  type OpenApiDocument,
  type Operation,
} from "./OpenApiDocument.ts"
import type { SchemaFields } from "./SchemaFields.ts"

export interface DocumentedCall {
  readonly method: string
  /** The path of a call; the type of a webhook. */
  readonly path: string
  readonly operation: Operation
}

export interface CallContext {
  readonly document: OpenApiDocument
  readonly requestFields: SchemaFields
  readonly answerFields: SchemaFields
  /** The problems that every call may answer. The page describes them in one place. */
  readonly commonCodes: ReadonlySet<string>
  readonly examples: ExampleTerms
}

/** What the examples say about the product. */
export interface ExampleTerms {
  /** The address of the service. The script of the page replaces it by the real one. */
  readonly base: string
  /** The variable of the shell that holds the key. */
  readonly keyVariable: string
  /** The path of the receiver of webhooks. */
  readonly webhookPath: string
}

export const renderCall = (call: DocumentedCall, context: CallContext): string => {
  const { operation, method, path } = call
  const request = bodyOf(operation.requestBody?.content)
  const success = successOf(operation)
  const answer = bodyOf(operation.responses[success]?.content)
  const failures = ownFailures(operation, context)
  return section(
    operation,
    pathLine(method, path, operation[actionField]),
    [
      request === undefined ? "" : `<h4>Request</h4>${context.requestFields.fieldsOf(request.schema)}`,
      operation.parameters.length === 0 ? "" : `<h4>Parameters</h4>${parameterList(operation)}`,
      answer === undefined ? "" : answerPart(answer, operation.responses[success], context),
      failurePart(operation, failures, path.startsWith("/api/") && (method !== "get" || path.includes("{"))),
    ],
    [
      figure("Request", curlOf(method, filledPath(path, operation), request?.example, context.examples)),
      ...(answer?.example === undefined ? [] : [figure(`Answer ${success}`, coloured(answer.example))]),
      ...failures.map(({ status, code, value }) => folded(`Answer ${status} ${code}`, coloured(value))),
    ],
  )
}

/** The status of the answer that is no failure. */
const successOf = ({ responses }: Operation): string =>
  Object.keys(responses).find((status) => /^2\d\d$/.test(status)) ?? "200"

/** The path with examples instead of its parameters. */
const filledPath = (path: string, { parameters }: Operation): string =>
  path.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const example = parameters.find((parameter) => parameter.name === name)?.example
    return example === undefined ? whole : encodeURIComponent(example)
  })

/** Renders a webhook: what the service sends, and what the answer means. */
export const renderWebhook = (call: DocumentedCall, context: CallContext): string => {
  const { operation } = call
  const request = bodyOf(operation.requestBody?.content)
  const answers = Object.entries(operation.responses)
  const bodies = answers.flatMap(([status, { content }]) =>
    Object.values(bodyOf(content)?.examples ?? {}).map(({ summary = "", value }) =>
      figure(`Your answer ${status}: ${summary}`, coloured(value)),
    ),
  )
  const said = bodyOf(operation.responses["2XX"]?.content)
  return section(
    operation,
    pathLine(call.method, "your URL"),
    [
      `<h4>Headers</h4>${parameterList(operation)}`,
      request === undefined ? "" : `<h4>Body</h4>${context.answerFields.fieldsOf(request.schema)}`,
      `<h4>What your answer means</h4><dl class="answers">${answers.map(answerRow).join("")}</dl>`,
      said === undefined
        ? ""
        : `<h4>Body of your answer</h4>${descriptionOf(said, context)}${context.answerFields.fieldsOf(said.schema)}`,
    ],
    [figure("What you receive", rawRequest(operation, request, context.examples)), ...bodies],
  )
}

const parameterList = ({ parameters }: Operation): string => {
  const items = parameters.map(
    ({ name, description: text = "", required }) =>
      `<li><p class="field"><code>${escapeHtml(name)}</code>${required === true ? "" : ` <span class="optional">optional</span>`}</p><p>${prose(text)}</p></li>`,
  )
  return `<ul class="fields">${items.join("")}</ul>`
}

/** The examples come before the fields, so that readers on a narrow screen see them first. */
const section = (
  { operationId, summary, description }: Operation,
  path: string,
  fields: ReadonlyArray<string>,
  examples: ReadonlyArray<string>,
): string => {
  const id = escapeHtml(operationId)
  const text = description === undefined ? "" : `<p>${prose(description)}</p>`
  return (
    `<section class="call" id="${id}" aria-labelledby="${id}.title">` +
    `<div class="head"><h3 id="${id}.title"><a href="#${id}">${escapeHtml(summary)}</a></h3>${path}${text}</div>` +
    `<div class="examples">${examples.join("")}</div><div class="doc">${fields.join("")}</div></section>`
  )
}

const pathLine = (method: string, path: string, action?: string): string => {
  const needs =
    action === undefined ? "" : ` <a class="action" href="#authorize-calls">needs ${escapeHtml(action)}</a>`
  return `<p class="path"><span class="method">${method.toUpperCase()}</span> <code>${escapeHtml(path)}</code>${needs}</p>`
}

const descriptionOf = ({ schema }: Body, { document }: CallContext): string => {
  const text =
    schema.$ref === undefined ? undefined : document.components.schemas[nameInRef(schema.$ref)]?.description
  return text === undefined ? "" : `<p>${prose(text)}</p>`
}

const answerPart = (
  body: Body,
  answer: DocumentedAnswer | undefined,
  { answerFields }: CallContext,
): string => {
  const isObject = answerFields.typeOf(body.schema) === "object" && body.example !== undefined
  return `<h4>Answer</h4><p>${prose(answer?.description ?? "")}</p>${isObject ? answerFields.fieldsOf(body.schema) : ""}`
}

interface Failure {
  readonly status: string
  readonly code: string
  readonly value: unknown
}

/** The failures of this call that are not common to all calls. */
const ownFailures = (operation: Operation, { document, commonCodes }: CallContext): ReadonlyArray<Failure> =>
  Object.entries(operation.responses).flatMap(([status, { content }]) => {
    if (status.startsWith("2")) return []
    const body = bodyOf(content)
    if (body?.example !== undefined) return [{ status, code: "", value: body.example }]
    return Object.entries(body?.examples ?? {})
      .filter(([code]) => !commonCodes.has(code))
      .map(([code, { $ref, value }]) => ({
        status,
        code,
        value: $ref === undefined ? value : document.components.examples[nameInRef($ref)]?.value,
      }))
  })

const failurePart = (operation: Operation, failures: ReadonlyArray<Failure>, isCall: boolean): string => {
  const own = failures.map(({ status, code }) =>
    code === ""
      ? `<li><code>${status}</code> ${prose(operation.responses[status]?.description ?? "")}</li>`
      : `<li><a href="#problem.${code}"><code>${status} ${code}</code></a></li>`,
  )
  const common = `<li>${own.length === 0 ? "The" : "and the"} <a href="#problems">problems of every call</a></li>`
  const all = isCall ? [...own, common] : own
  return all.length === 0
    ? ""
    : `<h4>${isCall ? "Problems" : "Other answers"}</h4><ul class="problems">${all.join("")}</ul>`
}

const answerRow = ([status, { description: text, headers = {} }]: readonly [
  string,
  DocumentedAnswer,
]): string => {
  const named = Object.entries(headers).map(
    ([name, header]) => `<p><code>${escapeHtml(name)}</code>: ${prose(header.description ?? "")}</p>`,
  )
  const title = status === "default" ? "anything else" : status
  return `<div><dt><code>${title}</code></dt><dd><p>${prose(text)}</p>${named.join("")}</dd></div>`
}

/** An example with a caption. The script of the page adds a copy button. */
export const figure = (caption: string, content: string): string =>
  `<figure><figcaption>${escapeHtml(caption)}</figcaption><pre tabindex="0"><code>${content}</code></pre></figure>`

const folded = (caption: string, content: string): string =>
  `<details class="example"><summary>${escapeHtml(caption.trim())}</summary><pre tabindex="0"><code>${content}</code></pre></details>`

export const coloured = (value: unknown): string =>
  typeof value === "string" ? escapeHtml(value) : colouredJson(prettyJson(value))

/** The page shows this line while the reader wants examples with a key. */
const keyLine = (variable: string): string =>
  `<span class="with-key">  -H "authorization: Bearer $${variable}" \\\n</span>`

/** A shell command that the reader can copy. */
export const curlOf = (
  method: string,
  path: string,
  body: unknown,
  { base, keyVariable }: ExampleTerms,
): string => {
  const url = `<span class="base">${base}</span>${escapeHtml(path)}`
  if (body === undefined) return method === "get" ? `curl ${url}` : `curl -X ${method.toUpperCase()} ${url}`
  const verb = method === "post" ? "" : `-X ${method.toUpperCase()} `
  const json = prettyJson(body).replaceAll("'", "'\\''")
  return `curl ${verb}${url} \\\n${keyLine(keyVariable)}  -H 'content-type: application/json' \\\n  -d '${colouredJson(json)}'`
}

const rawRequest = (
  operation: Operation,
  request: Body | undefined,
  { webhookPath }: ExampleTerms,
): string => {
  const headers = [
    ["content-type", "application/json"],
    ...operation.parameters.map(({ name, example = "" }) => [name, example]),
  ]
  const lines = headers.map(
    ([name = "", value = ""]) => `<span class="k">${name}</span>: ${escapeHtml(value)}`,
  )
  return `POST ${webhookPath} HTTP/1.1\n${lines.join("\n")}\n\n${coloured(request?.example)}`
}
