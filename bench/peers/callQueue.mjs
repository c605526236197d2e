// The work of the Service Agent on BullMQ and Redis: `bun callQueue.mjs REDIS_URL`. An HTTP server takes calls, adds a job
// for each and answers 202. A worker makes the request of each job once, and the queue keeps its outcome. The server
// prints its address as its first line.
import { Queue, Worker } from "bullmq"
import { concurrency, queueName } from "./setting.mjs"

const { hostname: host, port } = new URL(process.argv[2] ?? "")
const connection = { host, port: Number(port), maxRetriesPerRequest: null }

const queue = new Queue(queueName, { connection, defaultJobOptions: { attempts: 1 } })
const worker = new Worker(
  queueName,
  async ({ id, data: { method, url, body } }) => {
    const response = await fetch(url, {
      method,
      headers: { "content-type": "application/json", "idempotency-key": id },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: await response.text() }
  },
  { connection, concurrency },
)
await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  reusePort: false,
  idleTimeout: 0,
  fetch: async (request) => {
    const { serviceCallId, request: call, dueAt } = await request.json()
    const delay = dueAt === undefined ? 0 : Math.max(0, Date.parse(dueAt) - Date.now())
    await queue.add("call", call, { jobId: serviceCallId, delay })
    return Response.json({ serviceCallId }, { status: 202 })
  },
})
process.stdout.write(`${server.url.origin}\n`)
