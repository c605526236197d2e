// Runs a piece of work in a separate process. So every system starts in the same state, without effects of another.
import type { Result, Work } from "./works.ts"

/** The time limit of one piece of work, including its preparation. */
const runWithinMs = 2_400_000
const wordsKept = 500
const logsShown = 20

/** `command` is the script with its first arguments. The work is the last argument. */
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
  // A system may log before its answer.
  const [result = "", ...logs] = answer.trimEnd().split("\n").reverse()
  for (const line of logs.reverse().slice(0, logsShown)) process.stderr.write(`    ${line}\n`)
  return JSON.parse(result) as Result
}

/** The message of an uncaught error, without the source lines that the runtime prints around it. */
const lastWords = (text: string): string =>
  /^\w*[Ee]rror: (.*)$/m.exec(text)?.[1]?.slice(0, wordsKept) ?? text.trim().slice(-wordsKept)
