// The bare limit of P2: the HTTP server of the same runtime, which parses a JSON post and answers with JSON.
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  // Without development mode the runtime would share a port that is in use instead of failing.
  reusePort: false,
  fetch: async (request) => Response.json({ result: "created", timer: await request.json() }),
})
process.stdout.write(`${server.url.origin}\n`)
