// The bare limit of P2: the same runtime's HTTP server, which parses a JSON post and answers JSON.
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  // Without development mode the runtime would share a busy port instead of refusing it.
  reusePort: false,
  fetch: async (request) => Response.json({ result: "created", timer: await request.json() }),
})
process.stdout.write(`${server.url.origin}\n`)
