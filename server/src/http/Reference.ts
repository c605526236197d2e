// The contract for readers: the OpenAPI document for programs and a page for people, both made from the
// definition that the routes are made from. The page carries all it needs, and its policy forbids the
// browser to fetch anything from elsewhere, so that it works, and stays private, without the internet.

import type { Limits } from "@punctual/api/Limits"
import { makePunctualApi } from "@punctual/api/PunctualApi"
import { Layer } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApiSwagger, OpenApi } from "effect/http-api"

export interface Reference {
  readonly openApi: () => Response
  readonly page: () => Promise<Response>
}

/** Both are made when they are first asked for: a start should not wait for a page of a megabyte. */
export const makeReference = (limits: Limits): Reference => {
  let document: string | undefined
  let page: Promise<string> | undefined
  return {
    openApi: () => {
      document ??= JSON.stringify(OpenApi.fromApi(makePunctualApi(limits)))
      return new Response(document, { headers: { "content-type": "application/json" } })
    },
    page: async () => {
      page ??= renderPage(limits)
      return new Response(await page, { headers: pageHeaders })
    },
  }
}

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
}

const renderPage = async (limits: Limits): Promise<string> => {
  const swagger = HttpApiSwagger.layer(makePunctualApi(limits), { path: "/docs" })
  const { handler, dispose } = HttpRouter.toWebHandler(Layer.fresh(swagger), { disableLogger: true })
  try {
    return await (await handler(new Request("http://localhost/docs"))).text()
  } finally {
    await dispose()
  }
}
