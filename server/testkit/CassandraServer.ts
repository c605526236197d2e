// Cassandra for tests: one node on the loopback, from Maven's jars. It takes about 20 s to start, so a test file starts
// one, and every store of the file has its own name in one keyspace.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { mavenPackages } from "./MavenPackages.ts"
import { type ServerPlace, ServerProcess } from "./ServerProcess.ts"

const version = "5.0.9"

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>punctual</groupId><artifactId>cassandra</artifactId><version>1</version>
<dependencies><dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId>
<version>${version}</version></dependency></dependencies></project>
`

/** Why the machine has no Cassandra. `undefined` if it has. */
export const missingCassandra = (): string | undefined => {
  const found = mavenPackages(`Cassandra ${version}`, pom)
  return "missing" in found ? found.missing : undefined
}

export interface CassandraServerOptions {
  /** Lines of cassandra.yaml that replace those of the tests. */
  readonly settings?: Readonly<Record<string, string>>
}

export class CassandraServer implements AsyncDisposable {
  readonly process: ServerProcess
  readonly #isPeriodic: boolean
  #stores = 0

  private constructor(process: ServerProcess, isPeriodic: boolean) {
    this.process = process
    this.#isPeriodic = isPeriodic
  }

  static async start({ settings = {} }: CassandraServerOptions = {}): Promise<CassandraServer> {
    const jars = mavenPackages(`Cassandra ${version}`, pom)
    if ("missing" in jars) throw new Error(jars.missing)
    return new CassandraServer(
      await ServerProcess.start({
        title: `Cassandra ${version}`,
        portCount: 3,
        prepare: (place) => writeConfiguration(place, settings),
        program: (place) => ({ command: "java", args: javaArguments(jars.folder, place) }),
        readyWithinMs: 180_000,
      }),
      settings["commitlog_sync"] === "periodic",
    )
  }

  /** The URL of a store that does not exist yet. */
  newUrl(address = this.process.address): string {
    return this.url(`s${process.pid}_${++this.#stores}`, address)
  }

  url(store: string, address = this.process.address): string {
    const accepted = this.#isPeriodic ? "&commitlog=periodic" : ""
    return `cassandra://${address}/punctual?replication=1&store=${store}${accepted}`
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.process[Symbol.asyncDispose]()
  }
}

const writeConfiguration = (
  { folder, ports }: ServerPlace,
  settings: Readonly<Record<string, string>>,
): void => {
  const [clients = 0, storage = 0] = ports
  const lines: Readonly<Record<string, string>> = {
    cluster_name: "tests",
    num_tokens: "1",
    partitioner: "org.apache.cassandra.dht.Murmur3Partitioner",
    seed_provider: `[{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: "127.0.0.1:${storage}"}]}]`,
    listen_address: "127.0.0.1",
    rpc_address: "127.0.0.1",
    storage_port: String(storage),
    native_transport_port: String(clients),
    start_native_transport: "true",
    endpoint_snitch: "SimpleSnitch",
    data_file_directories: `[${join(folder, "data")}]`,
    commitlog_directory: join(folder, "commitlog"),
    saved_caches_directory: join(folder, "saved_caches"),
    hints_directory: join(folder, "hints"),
    cdc_raw_directory: join(folder, "cdc_raw"),
    ...(settings["commitlog_sync"] === undefined
      ? { commitlog_sync: "group", commitlog_sync_group_window: "2ms" }
      : {}),
    commitlog_segment_size: "16MiB",
    concurrent_reads: "8",
    concurrent_writes: "8",
    memtable_heap_space: "128MiB",
    memtable_offheap_space: "64MiB",
    key_cache_size: "8MiB",
    file_cache_size: "32MiB",
    auto_snapshot: "false",
    disk_access_mode: "mmap_index_only",
    ...settings,
  }
  mkdirSync(join(folder, "conf"), { recursive: true })
  writeFileSync(
    join(folder, "conf", "cassandra.yaml"),
    Object.entries(lines)
      .map(([name, value]) => `${name}: ${value}\n`)
      .join(""),
  )
  writeFileSync(
    join(folder, "conf", "logback.xml"),
    '<configuration><appender name="STDOUT" class="ch.qos.logback.core.ConsoleAppender"><encoder>' +
      "<pattern>%-5level %d{HH:mm:ss.SSS} %msg%n</pattern></encoder></appender>" +
      '<root level="INFO"><appender-ref ref="STDOUT"/></root></configuration>',
  )
}

/** Packages of Java 17 that Cassandra needs to open. */
const openedPackages = [
  "java.io java.lang java.lang.module java.lang.reflect java.math java.net java.nio java.nio.charset java.nio.file.spi",
  "java.rmi java.util java.util.concurrent java.util.concurrent.atomic java.util.concurrent.locks jdk.internal.loader",
  "jdk.internal.ref jdk.internal.reflect jdk.internal.math jdk.internal.module jdk.internal.misc jdk.internal.util.jar",
  "sun.nio.ch sun.reflect.generics.reflectiveObjects",
].flatMap((line) => line.split(" "))

const exportedPackages = [
  "java.management.rmi/com.sun.jmx.remote.internal.rmi",
  "java.rmi/sun.rmi.registry",
  "java.rmi/sun.rmi.server",
  "java.rmi/sun.rmi.transport.tcp",
  "java.sql/java.sql",
  "jdk.attach/sun.tools.attach",
  "jdk.compiler/com.sun.tools.javac.file",
]

const javaArguments = (jars: string, { folder, ports }: ServerPlace): ReadonlyArray<string> => [
  "-Xms512m",
  "-Xmx512m",
  "-XX:+UseSerialGC",
  "-XX:MaxDirectMemorySize=256m",
  // The first compiler only: the tests run for a minute, and better code would come too late.
  "-XX:TieredStopAtLevel=1",
  "-Xss512k",
  ...openedPackages.flatMap((name) =>
    ["opens", "exports"].map((way) => `--add-${way}=java.base/${name}=ALL-UNNAMED`),
  ),
  ...exportedPackages.map((name) => `--add-exports=${name}=ALL-UNNAMED`),
  "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
  "--add-opens=java.management/javax.management=ALL-UNNAMED",
  "--add-opens=jdk.compiler/com.sun.tools.javac=ALL-UNNAMED",
  "--add-opens=jdk.naming.dns/com.sun.jndi.dns=java.naming",
  `-javaagent:${join(jars, "jamm-0.4.0.jar")}`,
  "-Djdk.attach.allowAttachSelf=true",
  `-Dcassandra.config=file://${join(folder, "conf", "cassandra.yaml")}`,
  `-Dlogback.configurationFile=${join(folder, "conf", "logback.xml")}`,
  `-Dcassandra.storagedir=${folder}`,
  `-Dcassandra.logdir=${folder}`,
  `-Dcassandra.jmx.local.port=${ports[2]}`,
  "-Dcassandra-foreground=yes",
  "-Dcassandra.skip_wait_for_gossip_to_settle=0",
  "-Dcassandra.ring_delay_ms=100",
  "-Dcassandra.superuser_setup_delay_ms=0",
  "-Dio.netty.tryReflectionSetAccessible=true",
  "-Djava.net.preferIPv4Stack=true",
  "-cp",
  `${join(folder, "conf")}:${join(jars, "*")}`,
  "org.apache.cassandra.service.CassandraDaemon",
]
