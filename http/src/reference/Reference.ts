// The contract for readers: the OpenAPI document for programs and a page for people. Both come from the same definition
// as the routes. The page needs nothing from other servers, and its policy forbids the browser to load anything from
// them. So it works without the internet and stays private.
import { createHash } from "node:crypto"
import { type HttpAnswer, jsonAnswer } from "../HttpAnswer.ts"
import { checkedEachTime, keptForever, pageRules } from "../pages/pageRules.ts"
import { keptOnSuccess } from "./keptOnSuccess.ts"
import type { OpenApiDocument } from "./OpenApiDocument.ts"
import script from "./page.client.js" with { type: "text" }
import style from "./page.css" with { type: "text" }
import { iconSvg, type PageTerms, renderPage } from "./renderPage.ts"

export interface ReferenceOptions extends PageTerms {
  /** Makes the OpenAPI document of an API, for example with openApiInSlices.ts. */
  readonly document: () => Promise<Readonly<Record<string, unknown>>>
}

export interface Reference {
  readonly openApi: () => Promise<HttpAnswer>
  readonly page: () => Promise<HttpAnswer>
  readonly style: () => HttpAnswer
  readonly script: () => HttpAnswer
  readonly icon: () => HttpAnswer
}

/**
 * Makes the document and the page in slices at the first request, and keeps their bytes: to encode them takes longer than to
 * send them.
 */
export const makeReference = (options: ReferenceOptions): Reference => {
  const document = keptOnSuccess(
    // The document has everything that the page reads. A test renders all of it.
    () => options.document() as Promise<unknown> as Promise<OpenApiDocument>,
  )
  const json = keptOnSuccess(async () => encoder.encode(JSON.stringify(await document())))
  const page = keptOnSuccess(async () => encoder.encode(await renderPage(await document(), assets, options)))
  return {
    openApi: async () => jsonAnswer(await json()),
    page: async () => ({ status: 200, headers: pageHeaders, body: await page() }),
    style: () => asset(style, "text/css; charset=utf-8"),
    script: () => asset(script, "text/javascript; charset=utf-8"),
    icon: () => asset(iconSvg, "image/svg+xml"),
  }
}

const encoder = new TextEncoder()

const versionOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 12)

/** The addresses change when the content changes, so browsers may keep the files. */
const assets = {
  style: `api.css?v=${versionOf(style)}`,
  script: `api.js?v=${versionOf(script)}`,
  icon: `api.svg?v=${versionOf(iconSvg)}`,
}

const asset = (text: string, contentType: string): HttpAnswer => ({
  status: 200,
  headers: {
    "content-type": contentType,
    ...keptForever,
    ...pageRules,
  },
  body: text,
})

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  ...checkedEachTime,
  ...pageRules,
}
