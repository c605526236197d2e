// An endpoint that arms each timer again, with a new payload of the same size.
import type { Tally } from "../Tally.ts"

/** Starts the endpoint and returns its URL. The tally counts its answers. */
export const rearmingEndpoint = (payloadBytes: number, tally: Tally): string => {
  const answer = JSON.stringify({ ok: true, nextDelay: "1s", payload: "y".repeat(payloadBytes) })
  const server = Bun.serve({
    hostname: "127.66.0.1",
    port: 0,
    development: false,
    fetch: async (request) => {
      await request.arrayBuffer()
      tally.add("re-armed")
      return new Response(answer, { headers: { "content-type": "application/json" } })
    },
  })
  return server.url.href
}
