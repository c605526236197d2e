// FerretDB with its PostgreSQL, as the MongoDB server of tests. It keeps its port and its data over a kill and a
// restart.
import { MongoClient } from "../../drivers/mongodb/mongodb.ts"
import { ferretBinaries, postgresArgs } from "./FerretBinaries.ts"
import { ServerProcess } from "./ServerProcess.ts"

export class FerretServer implements AsyncDisposable {
  readonly #postgres: ServerProcess
  readonly #ferret: ServerProcess
  #databases = 0

  private constructor(postgres: ServerProcess, ferret: ServerProcess) {
    this.#postgres = postgres
    this.#ferret = ferret
  }

  /** With `checksPasswords`, clients must log in. No user has a password. */
  static async start(options: { readonly checksPasswords?: true } = {}): Promise<FerretServer> {
    const binaries = ferretBinaries()
    if ("missing" in binaries) throw new Error(binaries.missing)
    const postgres = await ServerProcess.start({
      title: "PostgreSQL with DocumentDB",
      prepare: ({ folder }) => binaries.copyData(`${folder}/data`),
      program: ({ folder, ports: [port = 0] }) =>
        binaries.postgres("postgres", postgresArgs(`${folder}/data`, folder, port)),
      stopSignal: "SIGINT",
    })
    try {
      const ferret = await ServerProcess.start({
        title: "FerretDB",
        program: ({ folder, ports: [port = 0] }) => ({
          command: binaries.ferretdb,
          args: [
            `--postgresql-url=postgres://postgres@${postgres.address}/postgres`,
            `--listen-addr=127.0.0.1:${port}`,
            "--debug-addr=-",
            "--telemetry=disable",
            `--state-dir=${folder}`,
            ...(options.checksPasswords ? [] : ["--no-auth"]),
            "--log-level=error",
          ],
        }),
        ...(options.checksPasswords ? {} : { isReady: ({ ports: [port = 0] }) => answersPing(port) }),
      })
      return new FerretServer(postgres, ferret)
    } catch (error) {
      await postgres[Symbol.asyncDispose]()
      throw error
    }
  }

  get host(): string {
    return this.#ferret.host
  }

  get port(): number {
    return this.#ferret.port
  }

  /** The URL of a new, empty database. */
  database(): string {
    return `mongodb://${this.#ferret.address}/test_${++this.#databases}`
  }

  async kill9(): Promise<void> {
    await this.#ferret.kill9()
    await this.#postgres.kill9()
  }

  async restart(): Promise<void> {
    await this.#ferret.stop()
    await this.#postgres.restart()
    await this.#ferret.restart()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ferret[Symbol.asyncDispose]()
    await this.#postgres[Symbol.asyncDispose]()
  }
}

const answersPing = async (port: number): Promise<boolean> => {
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/`, { serverSelectionTimeoutMS: 1_000 })
  try {
    await client.db("admin").command({ ping: 1 })
    await client.db("ready").command({ listCollections: 1 })
    return true
  } catch {
    return false
  } finally {
    await client.close()
  }
}
