// A piece of work in a process of its own, so that every system begins alike, and none has what another left behind.
import type { Result, Work } from "./works.ts"

/** Bounds one piece of work, its preparation included. */
const runWithinMs = 900_000
const wordsKept = 500

/** `command` is the script and what it is told before the work. */
export const inChild = async (command: ReadonlyArray<string>, work: Work): Promise<Result> => {
  const child = Bun.spawn([process.execPath, ...command, JSON.stringify(work)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: runWithinMs,
    killSignal: "SIGKILL",
  })
  const [answer, remarks] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0) {
    throw new Error(child.signalCode === null ? lastWords(remarks) : `ended by ${child.signalCode}`)
  }
  return JSON.parse(answer) as Result
}

/** What an uncaught error says of itself, without the source lines that the runtime shows around it. */
const lastWords = (text: string): string =>
  /^\w*[Ee]rror: (.*)$/m.exec(text)?.[1]?.slice(0, wordsKept) ?? text.trim().slice(-wordsKept)
