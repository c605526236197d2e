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
  curlOf,
  type DocumentedCall,
  exampleBase,
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

export const renderPage = async (document: OpenApiDocument, assets: PageAssets): Promise<string> => {
  const calls = callsOf(document.paths)
  const webhooks = callsOf(document.webhooks)
  const objects = objectsOf(document)
  const context: CallContext = {
    document,
    requestFields: new SchemaFields(document.components.schemas, { linked: new Set(), marks: "required" }),
    answerFields: new SchemaFields(document.components.schemas, { linked: objects, marks: "optional" }),
    commonCodes: commonCodesOf(calls),
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
  return page(document, assets, nav.join(""), [
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

interface IntroductionPart {
  readonly id: string
  readonly title: string
  readonly html: (context: CallContext) => readonly [doc: string, examples: string]
}

const firstTimer = {
  namespace: "demo",
  timerId: "hello",
  delay: "10s",
  callbackUrl: "http://127.0.0.1:9000/",
  payload: { text: "Hello" },
}

const introduction: ReadonlyArray<IntroductionPart> = [
  {
    id: "introduction",
    title: "Introduction",
    html: ({ document }) => [
      `<p class="lead">${prose(document.info.description ?? "")}</p>` +
        `<p>Every call is a <code>POST</code> with a JSON body to <code><span class="base">${exampleBase}</span></code>. Everything that names a timer is in the body, so ids need no escaping and stay out of access logs.</p>` +
        `<p>A timer is identified by its <code>namespace</code> and its <code>timerId</code>. When it is due, the service sends a <a href="#webhooks.timerFired">webhook</a>.</p>` +
        `<p>The whole contract is an <a href="../openapi.json">OpenAPI 3.1 document</a>, for programs.</p>`,
      figure("Your first timer", curlOf("post", "/api/v1/timers/create", firstTimer)),
    ],
  },
  {
    id: "conventions",
    title: "Conventions",
    html: () => [
      `<ul class="plain">` +
        [
          "<b>Body.</b> Send <code>content-type: application/json</code>. A request with an unknown field is refused. Answers may get more fields within version 1.",
          "<b>Instants</b> are ISO 8601 with an offset. Answers have them in UTC with milliseconds. Fractions of a millisecond round up.",
          "<b>Durations</b> are <code>90s</code>, <code>1h30m</code>, <code>250ms</code>, <code>7d</code>, or ISO 8601 such as <code>PT90S</code>. There are no months and no years.",
          "<b>Safe repeats.</b> After a timeout you can repeat a create with the same fields and an <code>executeAt</code>. As long as the timer is pending or in the history, the answer is <code>unchanged</code> or <code>alreadyFinished</code>, and the timer fires once. This is not true if the timer was moved or cancelled in between: then the same create arms it again. If <code>executeAt</code> has passed, only <code>executeAt</code> is compared with the finished timer; the other fields of the repeat are dropped. A <code>delay</code> counts from the receipt of the request, so a repeat moves the timer.",
          "<b>Compare and set.</b> Send the <code>revision</code> that you read as <code>ifRevision</code>. If the timer has changed since, the service answers <code>409 revisionMismatch</code>.",
          "<b>Pages.</b> If an answer has <code>nextCursor</code>, send it as <code>cursor</code> to get the next page.",
        ]
          .map((text) => `<li>${text}</li>`)
          .join("") +
        "</ul>",
      figure(
        "Equal instants",
        escapeHtml('"2030-01-01T09:00:00Z"\n"2030-01-01T09:00:00.000Z"\n"2030-01-01T10:00:00+01:00"'),
      ) + figure("Equal durations", escapeHtml('"90s"\n"1m30s"\n"PT90S"')),
    ],
  },
  {
    id: "authorize-calls",
    title: "Authentication",
    html: () => [
      "<p>A service that has had a key answers only callers with a key. Send it with each call, in the header <code>authorization: Bearer &lt;key&gt;</code>. </p>" +
        '<p><button type="button" id="authorize" aria-pressed="false" hidden>Authorize the examples of this page</button></p>' +
        "<p>A key may do certain actions in certain namespaces. Each call of this page names the action that it needs. Without <code>payload.read</code>, answers have neither payloads nor headers of targets. <code>keys/self</code> says what your key may do.</p>" +
        "<p>An administrator makes keys: <code>punctual keys create</code>, or the call <code>keys/create</code>.</p>",
      figure("Who am I?", curlOf("post", "/api/v1/keys/self", {})),
    ],
  },
  {
    id: "problems",
    title: "Problems",
    html: ({ document, commonCodes }) => [
      `<p>Every failure is a problem document (RFC 9457) with the type <code>application/problem+json</code>. Decide by its <code>code</code>. <code>detail</code> says what was wrong and how to fix it; for an invalid request <code>errors</code> names each field by a JSON pointer.</p>` +
        `<p>After <code>429</code> and <code>503</code> wait as long as the header <code>retry-after</code> says, then retry. Any call may answer the codes marked with •.</p>` +
        `<ul class="codes">${Object.entries(problemCodes)
          .map(([code, { status, title }]) => {
            const value = document.components.examples[code]?.value
            const example =
              value === undefined ? "" : `<pre tabindex="0"><code>${coloured(value)}</code></pre>`
            return `<li id="problem.${code}"><details><summary><code>${status}</code> <code class="code">${code}</code>${commonCodes.has(code) ? ` <span class="common" title="any call">•</span>` : ""}<span class="title">${escapeHtml(title)}</span></summary>${example}</details></li>`
          })
          .join("")}</ul>`,
      figure("An invalid request", coloured(document.components.examples["invalidRequest"]?.value)),
    ],
  },
]

const navGroup = (title: string, links: ReadonlyArray<readonly [id: string, text: string]>): string => {
  if (links.length === 0) return ""
  const items = links.map(([id, text]) => `<li><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>`)
  return `<section><h2>${escapeHtml(title)}</h2><ul>${items.join("")}</ul></section>`
}

const page = (
  { info }: OpenApiDocument,
  { style, script, icon }: PageAssets,
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
<a class="document" href="../openapi.json">OpenAPI</a>
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
