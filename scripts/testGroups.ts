// Sorts test files into groups that may run in parallel. The group of a file follows from its imports, direct or through
// other files, so no one has to assign a file to a group:
//
//   fast       starts no program;
//   long       starts no program either, but is one of the `longSuites`;
//   pages      starts a browser, and perhaps a database or a broker;
//   servers    starts a database or a broker, and no other program: it imports only `serverStarters`;
//   clusters   starts several nodes of the service. Its tests wait most of the time: for leases, restarts and load;
//   processes  starts any other program, mostly the service itself, to kill it, freeze it or trace it.
//
// A file that starts a program in a new way is in `processes`, where it disturbs few other tests. While the fast group
// and the long one run, refusePrograms.ts makes every attempt to start a program fail.
import { existsSync } from "node:fs"
import { join } from "node:path"
import { filesBelow, importsOf, root, testRoots, textOf } from "./repository.ts"

export const groups = ["fast", "long", "pages", "servers", "clusters", "processes"] as const
export type Group = (typeof groups)[number]

const browserStarter = "server/testkit/Browser.ts"
const clusterFile = "server/testkit/ClusterHarness.ts"

/** The files that start a database, a broker, a member of a bus or a browser, or download one. Add the file of a new kind of server. */
export const serverStarters: ReadonlyArray<string> = [
  browserStarter,
  "server/testkit/Certificates.ts",
  "server/testkit/classArchive.ts",
  "server/testkit/DebianPackages.ts",
  "server/testkit/DebianSuite.ts",
  "server/testkit/FerretBinaries.ts",
  "server/testkit/GoTools.ts",
  "server/testkit/MavenPackages.ts",
  "server/testkit/ServerProcess.ts",
  "bus/testkit/KafkaServer.ts",
  "bus/testkit/MortalMember.ts",
  "bus/testkit/NatsBinary.ts",
  "bus/testkit/NatsServer.ts",
  "server/testkit/PostgresBinaries.ts",
  "server/testkit/PostgresServer.ts",
  "server/testkit/MysqlServer.ts",
]

/** Suites that start no program, but that would take half of the minute of the fast group: over real files, or long runs. */
export const longSuites: ReadonlyArray<string> = [
  "agent/test/demo/demo.test.ts",
  "agent/test/http/AgentHttp.test.ts",
  "agent/test/outbox/OutboxDispatcher.test.ts",
  "agent/test/life.test.ts",
  "agent/test/steps.test.ts",
  "agent/test/stores/SqliteCallStore.test.ts",
  "api/test/JsonScan.test.ts",
  "server/test/bulk/onMemoryAndSqlite.test.ts",
  "server/test/cli/everyCommandAndKey.test.ts",
  "server/test/cli/keys/storeKeys.test.ts",
  "server/test/cli/store/archive.test.ts",
  "server/test/cli/store/backup.test.ts",
  "server/test/cli/store/damage.test.ts",
  "server/test/cli/store/restore.test.ts",
  "server/test/cli/timers/timersFrom.test.ts",
  "server/test/cli/watch/watch.test.ts",
  "server/test/cli/webhooks/webhooks.test.ts",
  "server/test/engine/Cluster.test.ts",
  "server/test/engine/ClusterFaults.test.ts",
  "server/test/engine/EngineCongestion.test.ts",
  "server/test/engine/EngineEgress.test.ts",
  "server/test/engine/EngineFaults.test.ts",
  "server/test/engine/census/estimates.test.ts",
  "server/test/http/RequestBody.test.ts",
  "server/test/http/cluster.test.ts",
  "server/test/inprocess/Punctual.test.ts",
  "server/test/stores/sqlite/Reader.test.ts",
  "server/test/stores/sqlite/SqliteArchive.test.ts",
  "server/test/stores/sqlite/SqliteDocuments.test.ts",
  "server/test/stores/sqlite/SqliteStore.test.ts",
  "server/test/stores/sqlite/StoreThread.test.ts",
  "server/test/stores/sqlite/Writer.test.ts",
  "server/test/stores/sqlite/damage.test.ts",
  "server/test/stores/sqlite/level0/cutPoints.test.ts",
  "server/test/stores/sqlite/merging.test.ts",
  "server/test/stores/sqlite/newFiles.test.ts",
  "server/test/stores/sqlite/openDatabase.test.ts",
]

/** The files that take longest. They start first, so that no lane waits at the end for one of them. */
export const longFiles: ReadonlyArray<string> = [
  "server/test/process/guides.test.ts",
  "scripts/test/process/release.test.ts",
  "server/test/process/clusterFaults.test.ts",
  "agent/test/process/crashes.test.ts",
  "server/test/stores/dynamodb/DynamoStore.test.ts",
  "server/test/process/clusterKeys.test.ts",
  "server/test/stores/cassandra/CassandraStore.test.ts",
  "server/test/process/storeRing.test.ts",
  "server/test/simulation/Simulation.test.ts",
  "server/test/stores/postgres/PostgresStore.test.ts",
  "bus/test/kafka/KafkaFaults.test.ts",
  "server/test/stores/mysql/MysqlStore.test.ts",
  "server/test/process/kafka.test.ts",
  "bus/test/rabbitmq/RabbitFaults.test.ts",
  "server/test/process/clusterRestart.test.ts",
  "server/test/process/rabbitmq.test.ts",
  "server/test/process/frozenOwners.test.ts",
  "server/test/stores/mongodb/MongodbStore.test.ts",
  "server/test/process/clusterFaultsCassandra.test.ts",
  "server/test/process/bus.test.ts",
  "web/test/timers.test.ts",
  "server/test/process/clusterNetwork.test.ts",
  "server/test/process/clusterFaultsMysql.test.ts",
  "server/test/browser/reference.test.ts",
  "web/test/clusterConsole.test.ts",
]

export const longestFirst = (files: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...longFiles.filter((file) => files.includes(file)),
  ...files.filter((file) => !longFiles.includes(file)),
]

/** All test files of the repository, as paths from the root. */
export const testFiles = (): ReadonlyArray<string> =>
  testRoots.flatMap((folder) => filesBelow(folder, ".test.ts")).sort()

/** Reads a file by its path from the root; undefined if it does not exist. */
export type ReadSource = (path: string) => string | undefined

const fromDisk: ReadSource = (path) =>
  path.endsWith(".ts") && existsSync(join(root, path)) ? textOf(path) : undefined

interface Known {
  readonly imports: ReadonlyArray<string>
  readonly canStart: boolean
}

/** Sorts test files, and caches the imports that it has read. */
export class GroupSorter {
  readonly #read: ReadSource
  readonly #known = new Map<string, Known>()

  constructor(read: ReadSource = fromDisk) {
    this.#read = read
  }

  groupOf(testFile: string): Group {
    const reached = this.filesReachedBy(testFile)
    const starters = reached.filter((path) => this.canStartPrograms(path))
    if (starters.length === 0) return longSuites.includes(testFile) ? "long" : "fast"
    if (!starters.every((path) => serverStarters.includes(path)))
      return reached.includes(clusterFile) ? "clusters" : "processes"
    return starters.includes(browserStarter) ? "pages" : "servers"
  }

  /** The file itself and all files that it imports, directly or through others. */
  filesReachedBy(file: string): ReadonlyArray<string> {
    const reached = new Set([file])
    // The loop also visits the entries that are added to the set while it runs.
    for (const path of reached) for (const next of this.#know(path).imports) reached.add(next)
    return [...reached]
  }

  canStartPrograms(path: string): boolean {
    return this.#know(path).canStart
  }

  #know(path: string): Known {
    const known = this.#known.get(path) ?? read(path, this.#read(path) ?? "")
    this.#known.set(path, known)
    return known
  }
}

const startingModules = ["node:child_process", "child_process", "node:cluster", "playwright-core"]

const read = (path: string, text: string): Known => {
  const imports = importsOf(path, text).flatMap(({ from, isType }) => (isType ? [] : [from]))
  const canStart =
    imports.some((from) => startingModules.includes(from)) || /\bBun\.(?:spawn\b|spawnSync\b|\$)/.test(text)
  return { imports, canStart }
}
