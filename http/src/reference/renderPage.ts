// Renders the reference as one HTML page from the OpenAPI document. The page works without its script, which adds copy
// buttons, the menu of narrow screens, the filter and the theme. All addresses are relative, so a proxy may serve the
// page below any path.
import { problemCodes } from "@punctual/api/Problem"
import { escapeHtml, prose } from "./html.ts"
import { inSlices } from "./inSlices.ts"
import { bodyOf, type JsonSchema, nameInRef, type OpenApiDocument } from "./OpenApiDocument.ts"
import {
  type CallContext,
  coloured,
  type DocumentedCall,
  type ExampleTerms,
  figure,
  renderCall,
  renderWebhook,
} from "./renderCall.ts"
import { SchemaFields } from "./SchemaFields.ts"

export interface PageAssets {
  /** Addresses relative to the page. */
  readonly style: string
  readonly script: string
  readonly icon: string
}

/** What the document does not say. */
export interface PageTerms {
  readonly introduction: ReadonlyArray<IntroductionPart>
  readonly examples: ExampleTerms
  /** The address of the documentation, relative to the page, if there is one. */
  readonly docs?: string
}

export const renderPage = async (
  document: OpenApiDocument,
  assets: PageAssets,
  terms: PageTerms,
): Promise<string> => {
  const introduction = [...terms.introduction, problemsPart]
  const calls = callsOf(document.paths)
  const webhooks = callsOf(document.webhooks)
  const objects = objectsOf(document)
  const context: CallContext = {
    document,
    requestFields: new SchemaFields(document.components.schemas, { linked: new Set(), marks: "required" }),
    answerFields: new SchemaFields(document.components.schemas, { linked: objects, marks: "optional" }),
    commonCodes: commonCodesOf(calls),
    examples: terms.examples,
  }
  const groups = document.tags.map((tag) => ({
    ...tag,
    calls: calls.filter(({ operation }) => operation.tags.includes(tag.name)),
    webhooks: webhooks.filter(({ operation }) => operation.tags.includes(tag.name)),
  }))
  const sections = await inSlices(
    groups.flatMap((group) => sectionsOf(group, context)),
    (render) => render(),
  )
  const nav = [
    navGroup(
      "Start here",
      introduction.map(({ id, title }) => [id, title]),
    ),
    ...groups.map(({ name, calls: inGroup, webhooks: sent }) =>
      navGroup(
        name,
        [...inGroup, ...sent].map(({ operation }) => [operation.operationId, operation.summary]),
      ),
    ),
    navGroup(
      "Objects",
      [...objects].map((name) => [`schema.${name}`, name]),
    ),
  ]
  return page(document, assets, terms, nav.join(""), [
    ...introduction.map(({ id, title, html }) => introductionPart(id, title, html(context))),
    ...sections,
    groupHead("Objects", "Objects that several answers share."),
    ...[...objects].map((name) => objectSection(name, context)),
  ])
}

const callsOf = (paths: OpenApiDocument["paths"]): ReadonlyArray<DocumentedCall> =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )

interface Group {
  readonly name: string
  readonly description?: string
  readonly calls: ReadonlyArray<DocumentedCall>
  readonly webhooks: ReadonlyArray<DocumentedCall>
}

const sectionsOf = (
  { name, description = "", calls, webhooks }: Group,
  context: CallContext,
): ReadonlyArray<() => string> => [
  () => groupHead(name, description),
  ...calls.map((call) => () => renderCall(call, context)),
  ...webhooks.map((call) => () => renderWebhook(call, context)),
]

/** The problems that all calls of the API with a body have in common. */
const commonCodesOf = (calls: ReadonlyArray<DocumentedCall>): ReadonlySet<string> => {
  const codesOfCalls = calls
    .filter(({ method, path }) => path.startsWith("/api/") && method === "post")
    .map(({ operation }) =>
      Object.values(operation.responses).flatMap(({ content }) =>
        Object.keys(bodyOf(content)?.examples ?? {}),
      ),
    )
  const [first = [], ...others] = codesOfCalls
  return new Set(first.filter((code) => others.every((codes) => codes.includes(code))))
}

/** Objects inside answers and webhooks, in the order of their first use. */
const objectsOf = ({ paths, webhooks, components }: OpenApiDocument): ReadonlySet<string> => {
  const found = new Set<string>()
  const look = (schema: JsonSchema | undefined, isInside: boolean): void => {
    if (schema === undefined) return
    const { $ref, properties = {}, items, anyOf = [], allOf = [], additionalProperties } = schema
    if ($ref !== undefined) {
      const name = nameInRef($ref)
      const target = components.schemas[name]
      if (found.has(name)) return
      if (isInside && target?.properties !== undefined) found.add(name)
      look(target, isInside)
    }
    for (const inner of [...Object.values(properties), ...anyOf, ...allOf]) look(inner, true)
    look(items, true)
    if (typeof additionalProperties === "object") look(additionalProperties, true)
  }
  for (const { operation } of callsOf(paths)) look(bodyOf(operation.responses["200"]?.content)?.schema, false)
  for (const { operation } of callsOf(webhooks)) look(bodyOf(operation.requestBody?.content)?.schema, false)
  return found
}

const objectSection = (name: string, { document, answerFields }: CallContext): string => {
  const schema = document.components.schemas[name] ?? {}
  const text = schema.description === undefined ? "" : `<p>${prose(schema.description)}</p>`
  return `<section class="object" id="schema.${name}" aria-labelledby="schema.${name}.title"><h3 id="schema.${name}.title"><a href="#schema.${name}">${name}</a></h3>${text}${answerFields.fieldsOf(schema)}</section>`
}

const groupHead = (name: string, description: string): string =>
  `<h2 class="group" id="group.${escapeHtml(name)}">${escapeHtml(name)}</h2><p class="group">${prose(description)}</p>`

const introductionPart = (id: string, title: string, [doc, examples]: readonly [string, string]): string =>
  `<section class="call" id="${id}" aria-labelledby="${id}.title"><div class="head"><h2 id="${id}.title"><a href="#${id}">${title}</a></h2>${doc}</div><div class="examples">${examples}</div></section>`

/** A part of the page before the calls: text, and examples beside it. */
export interface IntroductionPart {
  readonly id: string
  readonly title: string
  readonly html: (context: CallContext) => readonly [doc: string, examples: string]
}

/** The last part of the introduction. It is the same for all products. */
const problemsPart: IntroductionPart = {
  id: "problems",
  title: "Problems",
  html: ({ document, commonCodes }) => [
    `<p>Every failure is a problem document (RFC 9457) with the type <code>application/problem+json</code>. Decide by its <code>code</code>. <code>detail</code> says what was wrong and how to fix it; for an invalid request <code>errors</code> names each field by a JSON pointer.</p>` +
      `<p>After <code>429</code> and <code>503</code> wait as long as the header <code>retry-after</code> says, then retry. Any call may answer the codes marked with •.</p>` +
      `<ul class="codes">${Object.entries(problemCodes)
        .map(([code, { status, title }]) => {
          const value = document.components.examples[code]?.value
          const example = value === undefined ? "" : `<pre tabindex="0"><code>${coloured(value)}</code></pre>`
          return `<li id="problem.${code}"><details><summary><code>${status}</code> <code class="code">${code}</code>${commonCodes.has(code) ? ` <span class="common" title="any call">•</span>` : ""}<span class="title">${escapeHtml(title)}</span></summary>${example}</details></li>`
        })
        .join("")}</ul>`,
    figure("An invalid request", coloured(document.components.examples["invalidRequest"]?.value)),
  ],
}

const navGroup = (title: string, links: ReadonlyArray<readonly [id: string, text: string]>): string => {
  if (links.length === 0) return ""
  const items = links.map(([id, text]) => `<li><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>`)
  return `<section><h2>${escapeHtml(title)}</h2><ul>${items.join("")}</ul></section>`
}

const page = (
  { info }: OpenApiDocument,
  { style, script, icon }: PageAssets,
  { docs }: PageTerms,
  nav: string,
  main: ReadonlyArray<string>,
): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(info.title)} API reference</title>
<link rel="icon" type="image/svg+xml" href="${icon}">
<link rel="stylesheet" href="${style}">
<script src="${script}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<button type="button" id="menu" aria-controls="nav" aria-expanded="false" hidden>Menu</button>
<a class="brand" href="#introduction">${iconSvg}${escapeHtml(info.title)} <span>API v${escapeHtml(info.version)}</span></a>
${docs === undefined ? "" : `<a class="document" href="${docs}">Docs</a>\n`}<a class="document" href="../openapi.json">OpenAPI</a>
<button type="button" id="theme" hidden>Theme</button>
</header>
<nav id="nav" aria-label="Calls">
<input type="search" id="filter" placeholder="Filter calls" aria-label="Filter calls" hidden>
<p id="nothing" role="status" hidden>Nothing matches.</p>
${nav}
</nav>
<main id="main" tabindex="-1">
<h1>${escapeHtml(info.title)} API reference</h1>
${main.join("\n")}
</main>
</body>
</html>
`

export const iconSvg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><circle cx="12" cy="12" r="10" fill="#3b5bdb"/><path d="M12 6v6l4 2.5" fill="none" stroke="#fff" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"/></svg>`
