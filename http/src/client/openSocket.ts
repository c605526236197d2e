// The only file of the client that knows the sockets of the runtime.

/** A connected socket. */
export interface ClientSocket {
  /** Returns how many bytes were taken. Below 0: the socket is closed. */
  write(bytes: Uint8Array): number
  terminate(): void
}

export interface SocketEvents {
  readonly onOpen: (socket: ClientSocket) => void
  readonly onData: (bytes: Buffer) => void
  /** The socket takes bytes again. */
  readonly onDrain: () => void
  /** The other side will write nothing more, or the socket is closed. May be called twice. */
  readonly onClose: () => void
  /** The code is that of the system, such as ECONNREFUSED. */
  readonly onError: (code: string) => void
}

export type OpenSocket = (address: string, port: number, events: SocketEvents) => void

/** Connects to an address. The socket alone does not keep the process alive. */
export const openSocket: OpenSocket = (address, port, events) => {
  const { onOpen, onData, onDrain, onClose, onError } = events
  Bun.connect({
    hostname: address,
    port,
    socket: {
      open: (socket) => {
        socket.setNoDelay(true)
        socket.unref()
        onOpen(socket)
      },
      data: (_, bytes) => onData(bytes),
      drain: onDrain,
      end: onClose,
      close: onClose,
      error: (_, error) => onError(systemCodeOf(error)),
      connectError: (_, error) => onError(systemCodeOf(error)),
    },
  }).catch(() => {
    // `connectError` has told it.
  })
}

const systemCodeOf = (error: Error): string => ("code" in error ? String(error.code) : "unknown")
