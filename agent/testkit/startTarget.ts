// A service for the agent to call, which notes every request. A test writes the tenant and the id of the call into the
// body, so the target knows for whom each request is.
import type { SeenRequest, SubmittedCall } from "./CallChecker.ts"

/** On a free port of loopback. The path `/fail` answers 503. */
export const startTarget = () => {
  const seen: Array<SeenRequest> = []
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const at = Date.now()
      const { tenantId, serviceCallId } = (await request.json()) as SubmittedCall
      seen.push({ tenantId, serviceCallId, attemptId: request.headers.get("idempotency-key") ?? "", at })
      const isFailing = new URL(request.url).pathname === "/fail"
      return new Response(isFailing ? "no" : "done", {
        status: isFailing ? 503 : 200,
        headers: { "set-cookie": "session=secret" },
      })
    },
  })
  return {
    seen,
    url: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
