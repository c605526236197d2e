// The process of the receiver. Receiver.ts explains its paths.
const latenessMs: Array<number> = []
const arrivals: Array<readonly [timerId: string, receivedAtMs: number]> = []
let deliveries = 0

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  // Without development mode the runtime would share a port that is in use instead of failing.
  reusePort: false,
  idleTimeout: 0,
  fetch: async (request) => {
    switch (new URL(request.url).pathname) {
      case "/plain":
        await request.arrayBuffer()
        deliveries++
        return new Response()
      case "/timing": {
        const receivedAt = performance.timeOrigin + performance.now()
        const { executeAt } = (await request.json()) as { readonly executeAt: string }
        latenessMs.push(receivedAt - Date.parse(executeAt))
        deliveries++
        return new Response()
      }
      case "/recording": {
        const receivedAt = performance.timeOrigin + performance.now()
        const { timerId } = (await request.json()) as { readonly timerId: string }
        arrivals.push([timerId, receivedAt])
        deliveries++
        return new Response()
      }
      case "/deliveries":
        return Response.json(deliveries)
      case "/lateness":
        return Response.json(latenessMs)
      case "/arrivals":
        return Response.json(arrivals)
      case "/forget":
        deliveries = 0
        arrivals.length = 0
        latenessMs.length = 0
        return new Response()
      default:
        return new Response(null, { status: 404 })
    }
  },
})
process.stdout.write(`${server.url.origin}\n`)
