import { expect, test } from "bun:test"
import { createServer, type Server } from "node:net"
import { Effect, Exit, Fiber } from "effect"
import { Connection } from "../../src/nats/Connection.ts"

const listening = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve(typeof address === "object" && address !== null ? address.port : 0)
    })
  })

test("a stop does not wait for a broker that takes connections and never answers", async () => {
  const arrived = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    socket.on("error", () => {})
    arrived.resolve()
  })
  const port = await listening(server)
  const opening = Effect.runFork(
    Effect.scoped(
      Connection.open({
        servers: [`127.0.0.1:${port}`],
        clientName: "test",
        // Longer than the time limit of the test.
        connectTimeoutMs: 600_000,
      }),
    ),
  )
  await arrived.promise
  await Effect.runPromise(Fiber.interrupt(opening))
  const exit = opening.pollUnsafe()
  expect(exit !== undefined && Exit.hasInterrupts(exit)).toBe(true)
  server.close()
})
