// A real Kafka broker (KRaft, one node) in a process of its own. It listens on two ports. Clients of the second one are
// sent to a third port, on which a test can put a proxy: clients of Kafka connect to the address that the broker tells
// them, not to the one that they were given.
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import type { Certificates } from "@punctual/server/testkit/Certificates"
import { classArchiveArgs } from "@punctual/server/testkit/classArchive"
import { describeNeeding } from "@punctual/server/testkit/describeUnless"
import { type MavenPackages, mavenPackages } from "@punctual/server/testkit/MavenPackages"
import {
  type ServerPlace,
  ServerProcess,
  type ServerProcessOptions,
} from "@punctual/server/testkit/ServerProcess"
import { TcpProxy } from "@punctual/server/testkit/TcpProxy"

export interface KafkaServerOptions {
  /** Clients must be this user. */
  readonly auth?: KafkaServerAuth
  readonly tls?: Certificates & { readonly wantsClientCertificate?: boolean }
  /** Further lines of the configuration file. */
  readonly config?: string
}

type Mechanism = "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512"

export interface KafkaServerAuth {
  /** The brokers of a cluster use the first one among themselves. */
  readonly mechanisms: readonly [Mechanism, ...ReadonlyArray<Mechanism>]
  readonly user: string
  readonly password: string
}

const version = "4.3.1"
const title = `Kafka ${version}`
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>punctual</groupId><artifactId>kafka-broker</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${version}</version></dependency>
    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>2.25.4</version></dependency>
  </dependencies>
</project>
`

const jars = (): MavenPackages => mavenPackages(title, pom)

/** Where the broker was found, or why it is missing. */
export const kafkaState = ():
  | { readonly path: string; readonly version: string }
  | { readonly missing: string } => {
  const found = jars()
  return "missing" in found ? found : { path: found.folder, version }
}

/** Defines tests that need a broker. Without one they are skipped by name, or fail in CI. */
export const describeKafka = (name: string, body: () => void): void => {
  const found = jars()
  describeNeeding("missing" in found ? found.missing : undefined, name, body)
}

export class KafkaServer implements AsyncDisposable {
  readonly process: ServerProcess
  readonly #scheme: string

  private constructor(process: ServerProcess, scheme: string) {
    this.process = process
    this.#scheme = scheme
  }

  static async start(options: KafkaServerOptions = {}): Promise<KafkaServer> {
    const found = jars()
    if ("missing" in found) throw new Error(found.missing)
    const classPath = classPathOf(found.folder)
    const server = (
      config: KafkaServerOptions,
      runtimeArgs: ReadonlyArray<string>,
    ): ServerProcessOptions => ({
      title,
      portCount: 4,
      prepare: (place) => prepare(place, classPath, config),
      program: ({ folder }) => ({
        command: "java",
        args: [
          ...quickStart,
          ...runtimeArgs,
          ...heap(256),
          ...logging(folder),
          "-cp",
          classPath,
          "kafka.Kafka",
          settingsFile(folder),
        ],
      }),
      isReady: (_, logs) => logs.some((line) => line.includes("Kafka Server started")),
    })
    const runtimeArgs = await classArchiveArgs({
      folder: found.folder,
      server: (making) => server({}, making),
    })
    const process = await ServerProcess.start(server(options, runtimeArgs))
    return new KafkaServer(process, options.tls === undefined ? "kafka" : "kafka+ssl")
  }

  /** host:port. */
  get address(): string {
    return this.process.address
  }

  get url(): string {
    return `${this.#scheme}://${this.address}`
  }

  /** A network between the broker and the clients that connect to the proxy's address. */
  proxy(): Promise<TcpProxy> {
    const [, , port = 0, proxyPort = 0] = this.process.place.ports
    return TcpProxy.before({ host: this.process.host, port }, proxyPort)
  }

  kill9(): Promise<void> {
    return this.process.kill9()
  }

  stop(): Promise<void> {
    return this.process.stop()
  }

  restart(): Promise<void> {
    return this.process.restart()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]()
  }
}

/** An archive of classes is only for the same jars in the same order. */
const classPathOf = (folder: string): string =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".jar"))
    .toSorted()
    .map((name) => join(folder, name))
    .join(delimiter)

const quickStart = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:MaxMetaspaceSize=128m"]

const heap = (mebibytes: number): ReadonlyArray<string> => [`-Xms${mebibytes}m`, `-Xmx${mebibytes}m`]

const logging = (folder: string): ReadonlyArray<string> => [
  `-Dlog4j2.configurationFile=${join(folder, "log4j2.properties")}`,
]

const settingsFile = (folder: string): string => join(folder, "server.properties")

const prepare = ({ folder, ports }: ServerPlace, classPath: string, options: KafkaServerOptions): void => {
  writeFileSync(settingsFile(folder), settingsText({ folder, ports }, options))
  writeFileSync(join(folder, "log4j2.properties"), log4j)
  const clusterId = randomBytes(16).toString("base64url")
  const { auth } = options
  const scram = auth?.mechanisms.filter((mechanism) => mechanism !== "PLAIN") ?? []
  if (auth === undefined || scram.length === 0) {
    // What the format tool writes. To start the tool takes as long as to start the broker.
    const data = join(folder, "log")
    mkdirSync(data, { recursive: true })
    writeFileSync(join(data, "meta.properties"), `version=1\ncluster.id=${clusterId}\nnode.id=1\n`)
    return
  }
  const users = scram.map((mechanism) => `${mechanism}=[name=${auth.user},password=${auth.password}]`)
  const format = [
    "kafka.tools.StorageTool",
    "format",
    "-t",
    clusterId,
    "-c",
    settingsFile(folder),
    ...users.flatMap((user) => ["-S", user]),
  ]
  const args = [...quickStart, ...heap(128), ...logging(folder), "-cp", classPath, ...format]
  execFileSync("java", args, { stdio: "ignore" })
}

const settingsText = (
  { folder, ports }: ServerPlace,
  { auth, tls, config = "" }: KafkaServerOptions,
): string => {
  const [port, controllerPort, proxiedPort, proxyPort] = ports
  const protocol = `${auth === undefined ? "" : "SASL_"}${tls === undefined ? "PLAINTEXT" : "SSL"}`
  const lines = [
    "process.roles=broker,controller",
    "node.id=1",
    `controller.quorum.voters=1@127.0.0.1:${controllerPort}`,
    `listeners=DIRECT://127.0.0.1:${port},PROXIED://127.0.0.1:${proxiedPort},CONTROLLER://127.0.0.1:${controllerPort}`,
    `advertised.listeners=DIRECT://127.0.0.1:${port},PROXIED://127.0.0.1:${proxyPort}`,
    "controller.listener.names=CONTROLLER",
    "inter.broker.listener.name=DIRECT",
    `listener.security.protocol.map=DIRECT:${protocol},PROXIED:${protocol},CONTROLLER:PLAINTEXT`,
    `log.dirs=${join(folder, "log")}`,
    "auto.create.topics.enable=false",
    "offsets.topic.replication.factor=1",
    "offsets.topic.num.partitions=4",
    "transaction.state.log.replication.factor=1",
    "transaction.state.log.min.isr=1",
    "transaction.state.log.num.partitions=4",
    "share.coordinator.state.topic.replication.factor=1",
    "share.coordinator.state.topic.min.isr=1",
    "group.initial.rebalance.delay.ms=0",
    "group.min.session.timeout.ms=1000",
    "log.cleaner.dedupe.buffer.size=10485760",
    // Nobody else can be elected.
    "controller.quorum.election.timeout.ms=200",
    "broker.session.timeout.ms=2000",
    "broker.heartbeat.interval.ms=500",
    "num.network.threads=2",
    "num.io.threads=2",
    "num.recovery.threads.per.data.dir=1",
    ...authLines(auth),
    ...(tls === undefined ? [] : tlsLines(folder, tls)),
    config,
  ]
  return `${lines.join("\n")}\n`
}

const authLines = (auth: KafkaServerAuth | undefined): ReadonlyArray<string> => {
  if (auth === undefined) return []
  const { mechanisms, user, password } = auth
  const jaas = (mechanism: Mechanism): string => {
    const module = mechanism === "PLAIN" ? "plain.PlainLoginModule" : "scram.ScramLoginModule"
    const own = `org.apache.kafka.common.security.${module} required username="${user}" password="${password}"`
    return mechanism === "PLAIN" ? `${own} user_${user}="${password}";` : `${own};`
  }
  return [
    `sasl.enabled.mechanisms=${mechanisms.join(",")}`,
    `sasl.mechanism.inter.broker.protocol=${mechanisms[0]}`,
    ...mechanisms.flatMap((mechanism) =>
      ["direct", "proxied"].map(
        (listener) =>
          `listener.name.${listener}.${mechanism.toLowerCase()}.sasl.jaas.config=${jaas(mechanism)}`,
      ),
    ),
  ]
}

/** The broker reads one file with the certificate and its key. */
const tlsLines = (
  folder: string,
  { caFile, certFile, keyFile, wantsClientCertificate }: NonNullable<KafkaServerOptions["tls"]>,
): ReadonlyArray<string> => {
  const keystore = join(folder, "keystore.pem")
  writeFileSync(keystore, `${readFileSync(keyFile, "utf8")}${readFileSync(certFile, "utf8")}`)
  return [
    "ssl.keystore.type=PEM",
    `ssl.keystore.location=${keystore}`,
    "ssl.truststore.type=PEM",
    `ssl.truststore.location=${caFile}`,
    // With SASL, the broker obeys this only by listener.
    ...["direct", "proxied"].map(
      (listener) =>
        `listener.name.${listener}.ssl.client.auth=${wantsClientCertificate === true ? "required" : "none"}`,
    ),
    // The broker connects to itself, also if its certificate is for another host.
    "ssl.endpoint.identification.algorithm=",
  ]
}

const log4j = `appender.c.type=Console
appender.c.name=C
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=%d{HH:mm:ss.SSS} %p %m (%c)%n
rootLogger.level=INFO
rootLogger.appenderRef.c.ref=C
`
