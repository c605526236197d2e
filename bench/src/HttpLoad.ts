// A closed loop of HTTP posts over raw keep-alive sockets. It is so cheap that the server is the limit, not the client.
// Each connection sends its next request when the answer to the last one is complete.

export interface HttpLoad {
  readonly url: string
  readonly connections: number
  readonly requests: number
  readonly body: (index: number) => string
  /** The path of each request. The default is that of the URL. */
  readonly path?: (index: number) => string
  /** The status of a good answer. The default is 200. */
  readonly status?: number
  /** More header lines, each with its line end. */
  readonly headers?: string
  /** The load fails after this time, so that it always ends. */
  readonly withinMs: number
}

/** Returns requests per second. Fails on the first answer with another status. */
export const httpLoad = async (load: HttpLoad): Promise<number> => {
  const { url, connections, requests, body, headers = "", withinMs, status: good = 200 } = load
  const { hostname, port, pathname, host } = new URL(url)
  const { path = () => pathname } = load
  const head = ` HTTP/1.1\r\nhost: ${host}\r\n${headers}content-type: application/json\r\ncontent-length: `
  let sent = 0
  let answered = 0
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(
    () => reject(new Error(`${answered} of ${requests} requests answered within ${withinMs} ms`)),
    withinMs,
  )
  const next = (socket: Bun.Socket<{ text: string }>) => {
    if (sent === requests) return
    const text = body(sent)
    socket.write(`POST ${path(sent++)}${head}${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }
  const startedAt = performance.now()
  const sockets = await Promise.all(
    Array.from({ length: connections }, () =>
      Bun.connect<{ text: string }>({
        hostname,
        port: Number(port),
        data: { text: "" },
        socket: {
          open: next,
          data: (socket, chunk) => {
            socket.data.text += chunk.toString("latin1")
            const status = completeAnswer(socket.data.text)
            if (status === undefined) return
            if (status !== good) return reject(new Error(`answered: ${socket.data.text.slice(0, 500)}`))
            socket.data.text = ""
            if (++answered === requests) return resolve()
            return next(socket)
          },
          error: (_, error) => reject(error),
          close: () =>
            answered < requests ? reject(new Error("the server closed a connection")) : undefined,
        },
      }),
    ),
  )
  try {
    await promise
  } finally {
    clearTimeout(timer)
    for (const socket of sockets) socket.terminate()
  }
  return (requests / (performance.now() - startedAt)) * 1_000
}

/** The status of the answer, or undefined while its head or body is incomplete. */
const completeAnswer = (text: string): number | undefined => {
  const headEnd = text.indexOf("\r\n\r\n")
  if (headEnd < 0) return undefined
  const length = /content-length: (\d+)/i.exec(text.slice(0, headEnd))?.[1]
  if (length === undefined || text.length < headEnd + 4 + Number(length)) return undefined
  return Number(text.slice(9, 12))
}
