// Everything that a reader makes of some bytes, when they arrive in the given parts.
import { BadRequest } from "../../src/listener/BadRequest.ts"
import { RequestReader } from "../../src/listener/RequestReader.ts"

export interface ReadRequest {
  readonly line: string
  readonly host: string | null
  readonly keepsAlive: boolean
  body: string
  isComplete: boolean
}

export interface ReadInput {
  readonly requests: ReadonlyArray<ReadRequest>
  /** The code of the refusal that ended the input. */
  readonly refusal: string | undefined
}

/** `text` has one character for each byte. It is cut at each of the positions. */
export const readRequests = (text: string, cuts: ReadonlyArray<number> = []): ReadInput => {
  const reader = new RequestReader()
  const requests: Array<ReadRequest> = []
  let refusal: string | undefined
  const ends = [...cuts, text.length]
  let start = 0
  for (const end of ends) {
    reader.push(Buffer.from(text.slice(start, end), "latin1"))
    start = end
    for (;;) {
      const part = reader.next()
      const last = requests.at(-1)
      if (part === "more") break
      if (part instanceof BadRequest) {
        refusal = part.code
        break
      }
      if (part === "end") {
        if (last !== undefined) last.isComplete = true
      } else if (part instanceof Uint8Array) {
        if (last !== undefined) last.body += Buffer.from(part).toString("latin1")
      } else {
        const { method, path, query, headers, keepsAlive } = part
        const line = `${method} ${path}${query === "" ? "" : `?${query}`}`
        requests.push({ line, host: headers.get("host"), keepsAlive, body: "", isComplete: false })
      }
    }
    if (refusal !== undefined) break
  }
  return { requests, refusal }
}
