// The combined bare limit of P2: an echo server that answers only after it has inserted the timer into the same tables.
// The database has its own thread, as in the service, and all requests that arrive during one commit share the next one.
// There is no validation and no engine. It shows what two cores can do when both halves of the work are required.
import { Worker } from "node:worker_threads"
import { type BareRow, bareRow, bareTimer } from "./BareTables.ts"

interface Posted {
  readonly namespace: string
  readonly timerId: string
  readonly executeAt: string
  readonly payload: unknown
}

const thread = new Worker(new URL("./inserting.ts", import.meta.url), {
  workerData: { folder: process.argv[2] },
})
thread.on("error", (error) => {
  throw error
})
let waiting: Array<{ readonly row: BareRow; readonly answer: () => void }> = []
let committing: typeof waiting = []

const commit = (): void => {
  committing = waiting
  waiting = []
  thread.postMessage(committing.map(({ row }) => row))
}

thread.on("message", () => {
  for (const { answer } of committing) answer()
  committing = []
  if (waiting.length > 0) commit()
})

const inserted = (row: BareRow): Promise<void> =>
  new Promise((answer) => {
    waiting.push({ row, answer })
    // Requests that arrive in the same turn of the event loop join this commit.
    if (committing.length === 0 && waiting.length === 1) {
      setImmediate(() => {
        if (committing.length === 0) commit()
      })
    }
  })

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  // Without development mode the runtime would share a port that is in use instead of failing.
  reusePort: false,
  fetch: async (request) => {
    const timer = (await request.json()) as Posted
    await inserted(rowOf(timer))
    return Response.json({ result: "created", timer })
  },
})

const rowOf = ({ namespace, timerId, executeAt, payload }: Posted): BareRow =>
  bareRow(bareTimer(Date.parse(executeAt), { namespace, timerId, payload: JSON.stringify(payload) }))

process.stdout.write(`${server.url.origin}\n`)
