// Answers with a file of built pages: its bytes as they are, without work on the thread that fires timers.
import { gunzipSync } from "node:zlib"
import type { HttpAnswer } from "../HttpAnswer.ts"
import type { HttpRequest } from "../HttpRequest.ts"
import type { PageFile } from "./PagePack.ts"

export type PageAnswer = (request: HttpRequest) => HttpAnswer

export const pageAnswer = (
  { contentType, isGzip, bytes }: PageFile,
  rules: Readonly<Record<string, string>>,
): PageAnswer => {
  const headers = { "content-type": contentType, ...rules }
  if (!isGzip) {
    const asItIs: HttpAnswer = { status: 200, headers, body: bytes }
    return () => asItIs
  }
  const varying = { ...headers, vary: "accept-encoding" }
  const compressed: HttpAnswer = {
    status: 200,
    headers: { ...varying, "content-encoding": "gzip" },
    body: bytes,
  }
  // Few clients want it, so it is made when the first of them asks, and kept: each file is decompressed at most once.
  let plain: HttpAnswer | undefined
  return (request) => {
    if (takesGzip(request)) return compressed
    plain ??= { status: 200, headers: varying, body: new Uint8Array(gunzipSync(bytes)) }
    return plain
  }
}

const takesGzip = ({ headers }: HttpRequest): boolean =>
  /(?:^|[,\s])(?:gzip|\*)(?:$|[,;\s])(?!\s*q=0(?:\.0*)?(?:,|$))/i.test(headers.get("accept-encoding") ?? "")
