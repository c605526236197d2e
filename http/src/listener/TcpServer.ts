// The only file that knows the sockets of the runtime, with and without TLS.
import type { Wire, WireEvents } from "./Wire.ts"

/** Both as PEM. */
export interface ServerCertificate {
  /** The certificate of the server, and then its chain. */
  readonly cert: string
  readonly key: string
}

export interface TcpServerOptions {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  readonly certificate?: ServerCertificate
  /** Returns nothing if the connection was refused and closed. */
  readonly accept: (wire: Wire) => WireEvents | undefined
  readonly onDefect: (error: unknown) => void
}

export interface TcpServer {
  readonly port: number
  /** New connections use this certificate, and open ones keep theirs. Throws if the runtime refuses it. */
  useCertificate(certificate: ServerCertificate): void
  /** Accepts no more connections. The open ones stay. */
  stop(): void
}

/** Fails with the error of the system if it cannot listen. */
export const startTcpServer = (options: TcpServerOptions): TcpServer => {
  const { certificate } = options
  if (certificate === undefined) {
    const server = listenAlone(options)
    const useCertificate = () => {
      throw new Error("the server has no TLS")
    }
    return { port: server.port, useCertificate, stop: () => server.stop(false) }
  }
  // A server with TLS must share its port, because only a second server can use another certificate. The first one finds
  // out whether the port is free.
  const first = listenAlone(options)
  const { port } = first
  first.stop(true)
  let server = listenShared({ ...options, port }, certificate)
  let isStopped = false
  return {
    port,
    useCertificate: (next) => {
      if (isStopped) return
      const before = server
      server = listenShared({ ...options, port }, next)
      before.stop(false)
    },
    stop: () => {
      isStopped = true
      server.stop(false)
    },
  }
}

const listenAlone = (options: TcpServerOptions) =>
  Bun.listen<WireEvents | undefined>({
    ...socketsOf(options),
    // Without it the runtime would share a busy port on some systems instead of refusing it.
    exclusive: true,
  })

const listenShared = (options: TcpServerOptions, { cert, key }: ServerCertificate) => {
  // The types of the runtime do not have this option here.
  const shared = { reusePort: true }
  return Bun.listen<WireEvents | undefined>({ ...socketsOf(options), ...shared, tls: { cert, key } })
}

const socketsOf = ({ host, port, accept, onDefect }: TcpServerOptions) => {
  const socket: Bun.SocketHandler<WireEvents | undefined> = {
    open: (opened) => {
      // A client that has reset its connection already has no address, whatever the types of the runtime say.
      if (opened.remoteAddress === undefined) opened.terminate()
      else opened.data = accept(opened)
    },
    // With this handler the runtime reports a connection before its handshake, so that it counts from its beginning.
    handshake: ({ data }) => data?.onSecured?.(),
    data: ({ data }, bytes) => data?.onData(bytes),
    drain: ({ data }) => data?.onDrain(),
    end: ({ data }) => data?.onEnd(),
    close: ({ data }) => data?.onClose(),
    error: (failed, error) => {
      // A client that breaks the rules of TLS is no defect of the service.
      if (!isOfTls(error)) onDefect(error)
      failed.terminate()
    },
  }
  // A client that has sent its last request still gets its answers.
  return { hostname: host, port, allowHalfOpen: true, socket }
}

const isOfTls = (error: Error): boolean => "code" in error && error.code === "EPROTO"
