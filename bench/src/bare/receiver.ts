// The far side of P6 and P7: counts webhooks and keeps how late each was. `/counts` tells; `/hang` never answers.
const latenessMs: Array<number> = []
let deliveries = 0
let hanging = 0

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  // Without development mode the runtime would share a busy port instead of refusing it.
  reusePort: false,
  idleTimeout: 0,
  fetch: async (request) => {
    const { pathname } = new URL(request.url)
    switch (pathname) {
      case "/hang":
        hanging++
        return new Promise<Response>(() => {})
      case "/counts":
        return Response.json({ deliveries, hanging, latenessMs })
      case "/reset":
        deliveries = 0
        latenessMs.length = 0
        return new Response()
      case "/late": {
        const receivedAt = performance.timeOrigin + performance.now()
        const { executeAt } = (await request.json()) as { readonly executeAt: string }
        latenessMs.push(receivedAt - Date.parse(executeAt))
        deliveries++
        return new Response()
      }
      default:
        await request.arrayBuffer()
        deliveries++
        return new Response()
    }
  },
})
process.stdout.write(`${server.url.origin}\n`)
