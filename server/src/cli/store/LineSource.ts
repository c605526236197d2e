// Splits a stream of bytes into lines. Only one line is in memory, because an archive may be larger than the memory.
import { fstatSync, readSync } from "node:fs"
import { Effect, type Scope } from "effect"
import { CommandFailed } from "../frame/CommandRuntime.ts"

export interface LineSource {
  /** stdin is a terminal, so no archive was piped in. */
  readonly isTerminal: boolean
  readonly chunks: AsyncIterable<Uint8Array>
  /** The last line, if the source can read it before all others; empty if there is no line. */
  readonly lastLine?: string
}

/** A payload of 1 MiB of control characters takes 6 MiB as JSON. */
const lineBytesMax = 16 * 1024 * 1024
/** More than the last line of an archive can have. */
const tailBytes = 1_024

export interface Lines {
  /** The next line; `undefined` at the end. */
  readonly next: Effect.Effect<string | undefined, CommandFailed>
}

/** `what` names the source in messages. */
export const linesOf = (
  source: Pick<LineSource, "chunks"> & Partial<LineSource>,
  what = "the archive",
): Effect.Effect<Lines, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => splitLines(source.chunks)),
      (lines) => Effect.promise(() => lines.return(undefined).catch(() => {})),
    ),
    (lines) => ({
      next: Effect.tryPromise({
        try: () => lines.next(),
        catch: (error) =>
          new CommandFailed({
            message: `${what} cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
          }),
      }).pipe(Effect.map((read) => (read.done === true ? undefined : read.value))),
    }),
  )

async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true })
  let parts: Array<Uint8Array> = []
  let bytes = 0
  const line = () => {
    const text = decoder.decode(Buffer.concat(parts, bytes))
    parts = []
    bytes = 0
    return text
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(newLine); end >= 0; end = chunk.indexOf(newLine, start)) {
      parts.push(chunk.subarray(start, end))
      bytes += end - start
      start = end + 1
      yield line()
    }
    parts.push(chunk.subarray(start))
    bytes += chunk.byteLength - start
    if (bytes > lineBytesMax) throw new Error(`a line has more than ${lineBytesMax} bytes`)
  }
  if (bytes > 0) yield line()
  return undefined
}

const newLine = 10

export const stdinLines = (): LineSource => ({
  isTerminal: process.stdin.isTTY === true,
  chunks: process.stdin,
  ...lastLineOfFile(),
})

/** Only a file can be read at its end. That read does not move the position of stdin. */
const lastLineOfFile = (): { readonly lastLine?: string } => {
  const status = fstatSync(0)
  if (!status.isFile()) return {}
  const tail = Buffer.alloc(Math.min(status.size, tailBytes))
  readSync(0, tail, 0, tail.byteLength, status.size - tail.byteLength)
  return { lastLine: tail.toString("utf8").trimEnd().split("\n").at(-1) ?? "" }
}
