// What every process test has: a folder, a service on it, a target for its webhooks, a client, and the history of the
// run. When it is disposed, it ends every process that still runs.
import { expect } from "bun:test"
import { eventually } from "../../testkit/eventually.ts"
import { HistoryRecorder, type StoreContents } from "../../testkit/History.ts"
import { checkInvariants, describeViolations } from "../../testkit/InvariantChecker.ts"
import { Receiver, type ReceiverOptions } from "../../testkit/Receiver.ts"
import { type CreateRequest, RecordingClient } from "../../testkit/RecordingClient.ts"
import { type Program, ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { readSqliteContents } from "../../testkit/SqliteContents.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const createManyMax = 1_000

export interface ProcessRunOptions {
  readonly reply?: ReceiverOptions["reply"]
  readonly settings?: Readonly<Record<string, string>>
  /** The program of the services; by default the sources. */
  readonly program?: Program
}

export class ProcessRun implements AsyncDisposable {
  readonly recorder: HistoryRecorder
  readonly folder: string
  readonly receiver: Receiver
  readonly service: ServiceProcess
  readonly client: RecordingClient
  readonly #stack: AsyncDisposableStack
  readonly #options: Pick<ProcessRunOptions, "settings" | "program">

  private constructor(
    recorder: HistoryRecorder,
    folder: string,
    receiver: Receiver,
    stack: AsyncDisposableStack,
    options: Pick<ProcessRunOptions, "settings" | "program">,
  ) {
    this.recorder = recorder
    this.folder = folder
    this.receiver = receiver
    this.#stack = stack
    this.#options = options
    this.service = this.another("first")
    this.client = new RecordingClient({ recorder, url: () => this.service.url })
  }

  /** Returns with a ready service. */
  static async start({ reply, ...options }: ProcessRunOptions = {}): Promise<ProcessRun> {
    const stack = new AsyncDisposableStack()
    try {
      const recorder = new HistoryRecorder(() => Date.now())
      const folder = stack.use(new TemporaryFolder()).path
      const receiver = stack.use(
        await Receiver.listening({ recorder, ...(reply === undefined ? {} : { reply }) }),
      )
      const run = new ProcessRun(recorder, folder, receiver, stack, options)
      await run.service.start()
      return run
    } catch (error) {
      await stack.disposeAsync()
      throw error
    }
  }

  /** Another service on the same data, not started yet. */
  another(name: string): ServiceProcess {
    const { recorder, folder } = this
    return this.#stack.use(new ServiceProcess({ folder, name, ...this.#options, recorder }))
  }

  /** Another target, with its own replies. */
  async anotherReceiver(reply: NonNullable<ReceiverOptions["reply"]>): Promise<Receiver> {
    return this.#stack.use(await Receiver.listening({ recorder: this.recorder, reply }))
  }

  /**
   * Every invariant holds over the whole run. Call this when no service runs any more. Timers that were due by
   * `dueUntilMs` must not be pending any more.
   */
  expectInvariants({ hint = "", dueUntilMs = Date.now() } = {}): void {
    const history = { events: this.recorder.events, final: this.contents(), dueUntilMs }
    const report = describeViolations(checkInvariants(history))
    expect(report === "" ? "" : `${hint}\n${report}`).toBe("")
    expect(this.receiver.malformed).toEqual([])
  }

  /**
   * Creates all timers, in calls as large as the contract allows. A create without an answer is repeated, as the
   * contract allows every client. The history has both requests.
   */
  async createAll(requests: ReadonlyArray<CreateRequest>): Promise<void> {
    let missing = requests
    await eventually(`${requests.length} creates are acknowledged`, async () => {
      const unanswered: Array<CreateRequest> = []
      for (let first = 0; first < missing.length; first += createManyMax) {
        const some = missing.slice(first, first + createManyMax)
        const answers = await this.client.createMany(some)
        unanswered.push(...some.filter((_, index) => answers[index] === undefined))
      }
      missing = unanswered
      return missing.length === 0 ? true : undefined
    })
  }

  /** While the service is paused, due timers wait, however long a test takes to kill and start processes. */
  async setPaused(isPaused: boolean, service = this.service): Promise<void> {
    const response = await fetch(`${service.url}/api/v1/service/${isPaused ? "pause" : "resume"}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    })
    expect([await response.text(), response.status]).toEqual([expect.any(String), 200])
  }

  contents(): StoreContents {
    return readSqliteContents(ServiceProcess.databaseIn(this.folder))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }
}
