// One TCP connection as the listener uses it. The runtime's sockets have this shape. Tests use bytes in memory.

export interface Wire {
  readonly remoteAddress: string
  /** Returns how many bytes were taken. The rest is up to the caller, after `onDrain`. Below 0: the wire is closed. */
  write(data: string | Uint8Array): number
  /** Says that nothing more will be written. The other side may still write. */
  shutdown(): void
  /** Closes both directions. What was taken is still sent. */
  end(): void
  /** Closes at once, without sending the rest. */
  terminate(): void
  pause(): void
  resume(): void
}

/** Who listens to the events of a wire. */
export interface WireEvents {
  /** The handshake of TLS is complete. */
  onSecured?(): void
  onData(bytes: Buffer): void
  /** The wire takes bytes again. */
  onDrain(): void
  /** The other side will write nothing more. */
  onEnd(): void
  /** The wire is closed. No other event follows. */
  onClose(): void
}
