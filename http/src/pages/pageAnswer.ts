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
  return (request) =>
    takesGzip(request)
      ? compressed
      : { status: 200, headers: varying, body: new Uint8Array(gunzipSync(bytes)) }
}

const takesGzip = ({ headers }: HttpRequest): boolean =>
  /(?:^|[,\s])(?:gzip|\*)(?:$|[,;\s])(?!\s*q=0(?:\.0*)?(?:,|$))/i.test(headers.get("accept-encoding") ?? "")
