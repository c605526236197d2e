// The only file that knows the sockets of the runtime. A server with TLS would pass its certificate here, and nothing
// else would change.
import type { Wire, WireEvents } from "./Wire.ts"

export interface TcpServerOptions {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  /** Returns nothing if the connection was refused and closed. */
  readonly accept: (wire: Wire) => WireEvents | undefined
  readonly onDefect: (error: unknown) => void
}

export interface TcpServer {
  readonly port: number
  /** Accepts no more connections. The open ones stay. */
  stop(): void
}

/** Fails with the error of the system if it cannot listen. */
export const startTcpServer = ({ host, port, accept, onDefect }: TcpServerOptions): TcpServer => {
  const server = Bun.listen<WireEvents | undefined>({
    hostname: host,
    port,
    // Without it the runtime would share a busy port on some systems instead of refusing it.
    exclusive: true,
    // A client that has sent its last request still gets its answers.
    allowHalfOpen: true,
    socket: {
      open: (socket) => {
        socket.data = accept(socket)
      },
      data: (socket, bytes) => socket.data?.onData(bytes),
      drain: (socket) => socket.data?.onDrain(),
      end: (socket) => socket.data?.onEnd(),
      close: (socket) => socket.data?.onClose(),
      error: (socket, error) => {
        onDefect(error)
        socket.terminate()
      },
    },
  })
  return { port: server.port, stop: () => server.stop(false) }
}
