// A real RabbitMQ server as a process of its own. It needs no root: its data, its configuration and Erlang's own port
// mapper are in the temporary folder of the server and on loopback ports.
import { createHash } from "node:crypto"
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Certificates } from "@punctual/server/testkit/Certificates"
import { eventually } from "@punctual/server/testkit/eventually"
import { type ServerPlace, ServerProcess } from "@punctual/server/testkit/ServerProcess"
import { type RabbitFiles, rabbitBinaries } from "./RabbitBinaries.ts"

export interface RabbitUser {
  readonly name: string
  readonly password: string
  /** Regular expressions of names that the user may configure, write and read, by virtual host. */
  readonly permissions: Readonly<Record<string, readonly [configure: string, write: string, read: string]>>
}

export interface RabbitServerOptions {
  /** Beside "/". */
  readonly vhosts?: ReadonlyArray<string>
  /** Beside guest, who may do everything. */
  readonly users?: ReadonlyArray<RabbitUser>
  /** Also listens with TLS, at `tlsPort`. */
  readonly tls?: Certificates
  /** With `tls`: clients must have a certificate of the same authority. */
  readonly wantsClientCertificate?: boolean
  /** Turned off to test what a client reports about a broker without the plug-in. */
  readonly hasHashPlugin?: boolean
  /** Appended to the configuration file unchanged. */
  readonly config?: string
}

/** Twice as long as RabbitMQ waits before it writes what has changed. */
const atRestMs = 2_000

export class RabbitServer implements AsyncDisposable {
  readonly process: ServerProcess

  private constructor(process: ServerProcess) {
    this.process = process
  }

  /** Resolves when the server is listening. */
  static async start(options: RabbitServerOptions = {}): Promise<RabbitServer> {
    const files = rabbitBinaries()
    if ("missing" in files) throw new Error(files.missing)
    return new RabbitServer(
      await ServerProcess.start({
        title: "RabbitMQ",
        portCount: 4,
        prepare: (place) => prepare(place, files, options),
        program: ({ folder }) => ({ command: "sh", args: [join(folder, "start")] }),
        // Right after a kill, the ports of the last run may still accept connections.
        isReady: (_, logs) => logs.some((line) => /completed with \d+ plugins/.test(line)),
      }),
    )
  }

  get host(): string {
    return this.process.host
  }

  /** Stays the same over restarts. */
  get port(): number {
    return this.process.port
  }

  get tlsPort(): number {
    return this.process.place.ports[3] ?? 0
  }

  /** host:port. */
  get address(): string {
    return this.process.address
  }

  get url(): string {
    return `amqp://${this.address}`
  }

  /** Kills the server without any notice. These queues survive. */
  async kill9(queues: ReadonlyArray<string> = []): Promise<void> {
    await this.untilSaved(queues)
    await this.process.kill9()
  }

  /**
   * RabbitMQ writes the name of a new quorum queue to disk up to a second after it has answered. A queue whose name is lost
   * in a kill stays unavailable. If the kill meets the write, the broker may make no more queues. So `queues` must have all
   * new ones, and the file must have rested for a while.
   */
  async untilSaved(queues: ReadonlyArray<string>): Promise<void> {
    const file = join(this.process.place.folder, "data/rabbit@localhost/quorum/rabbit@localhost/names.dets")
    await eventually("the names of the queues are saved", () => {
      const saved = readFileSync(file)
      const isAtRest = Date.now() - statSync(file).mtimeMs > atRestMs
      return isAtRest && queues.every((queue) => saved.includes(queue)) ? true : undefined
    })
  }

  restart(): Promise<void> {
    return this.process.restart()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.process[Symbol.asyncDispose]()
  }
}

const prepare = (place: ServerPlace, files: RabbitFiles, options: RabbitServerOptions): void => {
  const { folder, ports } = place
  const [, , mapperPort = 0] = ports
  mkdirSync(join(folder, "bin"), { recursive: true })
  // Debian's script looks for Erlang at its installed place only.
  executable(join(folder, "bin/erl"), [
    `export ROOTDIR="${files.erlang}" EMU=beam PROGNAME=erl`,
    `export BINDIR="$ROOTDIR/${files.erlangVersion}/bin"`,
    `exec "$BINDIR/erlexec" "$@"`,
  ])
  writeFileSync(join(folder, "rabbitmq.conf"), configuration(place, options))
  writeFileSync(join(folder, "definitions.json"), JSON.stringify(definitions(options)))
  const plugins = options.hasHashPlugin === false ? "" : "rabbitmq_sharding"
  writeFileSync(join(folder, "enabled_plugins"), `[${plugins}].\n`)
  const mapper = join(files.erlang, files.erlangVersion, "bin/epmd")
  executable(join(folder, "start"), [
    ...Object.entries(environment(place, files)).map(([name, value]) => `export ${name}='${value}'`),
    // The mapper must answer before the server starts; the server's own start of it fails on a busy machine.
    `'${mapper}' -address 127.0.0.1 -port ${mapperPort} &`,
    `until '${mapper}' -port ${mapperPort} -names >/dev/null 2>&1; do sleep 0.05; done`,
    `exec '${join(files.scripts, "rabbitmq-server")}'`,
  ])
}

const environment = (
  { folder, ports }: ServerPlace,
  files: RabbitFiles,
): Readonly<Record<string, string>> => {
  const [port, distributionPort, mapperPort] = ports.map(String)
  return {
    HOME: folder,
    PATH: `${join(folder, "bin")}:${join(files.erlang, "bin")}:${process.env["PATH"] ?? ""}`,
    LD_LIBRARY_PATH: files.libraries,
    ERL_EPMD_PORT: mapperPort ?? "",
    ERL_EPMD_ADDRESS: "127.0.0.1",
    RABBITMQ_NODENAME: "rabbit@localhost",
    RABBITMQ_NODE_PORT: port ?? "",
    RABBITMQ_DIST_PORT: distributionPort ?? "",
    RABBITMQ_MNESIA_BASE: join(folder, "data"),
    RABBITMQ_LOG_BASE: join(folder, "log"),
    RABBITMQ_LOGS: "-",
    RABBITMQ_PID_FILE: join(folder, "pid"),
    RABBITMQ_GENERATED_CONFIG_DIR: join(folder, "generated"),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, "enabled_plugins"),
    RABBITMQ_CONF_ENV_FILE: join(folder, "no-such-file"),
    RABBITMQ_CONFIG_FILE: join(folder, "rabbitmq"),
    // Schedulers that wait busily would take the processor from the tests.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS:
      "-kernel inet_dist_use_interface {127,0,0,1} +S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none",
  }
}

const configuration = ({ folder, ports }: ServerPlace, options: RabbitServerOptions): string => {
  const [port, , , tlsPort] = ports
  const { tls, wantsClientCertificate = false, config = "" } = options
  return [
    `listeners.tcp.1 = 127.0.0.1:${port}`,
    `load_definitions = ${join(folder, "definitions.json")}`,
    "disk_free_limit.absolute = 50MB",
    "vm_memory_high_watermark.absolute = 1GB",
    "log.console.level = warning",
    ...(tls === undefined
      ? []
      : [
          `listeners.ssl.1 = 127.0.0.1:${tlsPort}`,
          `ssl_options.cacertfile = ${tls.caFile}`,
          `ssl_options.certfile = ${tls.certFile}`,
          `ssl_options.keyfile = ${tls.keyFile}`,
          `ssl_options.verify = ${wantsClientCertificate ? "verify_peer" : "verify_none"}`,
          `ssl_options.fail_if_no_peer_cert = ${wantsClientCertificate}`,
        ]),
    config,
    "",
  ].join("\n")
}

const definitions = ({ vhosts = [], users = [] }: RabbitServerOptions): object => {
  const all = ["/", ...vhosts]
  const guest = {
    name: "guest",
    password: "guest",
    permissions: Object.fromEntries(all.map((vhost) => [vhost, [".*", ".*", ".*"] as const])),
  }
  const everybody: ReadonlyArray<RabbitUser> = [guest, ...users]
  return {
    vhosts: all.map((name) => ({ name })),
    users: everybody.map(({ name, password }) => ({
      name,
      password_hash: passwordHash(password),
      hashing_algorithm: "rabbit_password_hashing_sha256",
      tags: [],
    })),
    permissions: everybody.flatMap(({ name, permissions }) =>
      Object.entries(permissions).map(([vhost, [configure, write, read]]) => ({
        user: name,
        vhost,
        configure,
        write,
        read,
      })),
    ),
  }
}

/** The server stores four bytes of salt, and the hash of salt and password. */
const passwordHash = (password: string): string => {
  const salt = Buffer.from([1, 2, 3, 4])
  const hash = createHash("sha256").update(salt).update(password).digest()
  return Buffer.concat([salt, hash]).toString("base64")
}

const executable = (file: string, lines: ReadonlyArray<string>): void => {
  writeFileSync(file, `#!/bin/sh\n${lines.join("\n")}\n`)
  chmodSync(file, 0o755)
}
