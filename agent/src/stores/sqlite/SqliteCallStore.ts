// Service calls in a SQLite file of the agent's own. All statements run in a thread, because the engine of the Timer may
// share the main thread, and a sync of the disk would delay its timers.
import { Effect, Layer } from "effect"
import { CallStore, CallStoreError } from "../../ports/CallStore.ts"
import { CallThread } from "./CallThread.ts"

export interface SqliteCallStoreOptions {
  readonly path: string
  /** The file worker.ts as a URL. The program's entry builds it, because elsewhere it breaks when compiled. */
  readonly workerUrl: URL
  /** The store can no longer be used, and the process should end. */
  readonly onFatal?: (message: string) => void
}

export const SqliteCallStore = {
  layer: ({
    path,
    workerUrl,
    onFatal = () => {},
  }: SqliteCallStoreOptions): Layer.Layer<CallStore, CallStoreError> =>
    Layer.effect(
      CallStore,
      Effect.map(
        Effect.acquireRelease(
          Effect.tryPromise({
            try: () => CallThread.open(workerUrl, path, onFatal),
            catch: (error) =>
              new CallStoreError({
                message: error instanceof Error ? error.message : String(error),
                isFatal: true,
              }),
          }),
          (thread) => Effect.promise(() => thread.close()),
        ),
        storeOver,
      ),
    ),
}

const storeOver = (thread: CallThread): CallStore["Service"] => ({
  submit: (change, sealedRequest) => thread.call("submit", { change, sealedRequest }),
  find: (key) => thread.call("find", key),
  detail: (key) => thread.call("detail", key),
  commit: (expectedVersion, change) => thread.call("commit", { expectedVersion, change }),
  list: (tenantId, asked) => thread.call("list", { tenantId, asked }),
  counts: (tenantId, filter) => thread.call("counts", { tenantId, filter }),
  changesAfter: (tenantId, exclusiveAfter, limit) =>
    thread.call("changesAfter", { tenantId, exclusiveAfter, limit }),
  outboxHeads: (asked) => thread.call("outboxHeads", asked),
  // The file belongs to this process, and the process has one dispatcher.
  hold: () => Effect.succeed(true),
  outboxOf: (key, limit) => thread.call("outboxOf", { key, limit }),
  removeMessages: (key, rows) => thread.call("removeMessages", { key, rows }),
  deferMessages: (key, readyAt) => thread.call("deferMessages", { key, readyAt }),
  claimAttempt: (attempt) => thread.call("claimAttempt", attempt),
  attemptOf: (key) => thread.call("attemptOf", key),
  beginAttempt: (key, step) => thread.call("beginAttempt", { key, ...step }),
  endAttempt: (key, step) => thread.call("endAttempt", { key, ...step }),
  resendOutcome: (key, message) => thread.call("resendOutcome", { key, message }),
  waitingAttempts: (claimed, limit) => thread.call("waitingAttempts", { claimed, limit }),
  callingAttempts: (owner, limit) => thread.call("callingAttempts", { owner, limit }),
  openCalls: (nowMs, limit) => thread.call("openCalls", { nowMs, limit }),
  prune: (exclusiveBefore, limit) => thread.call("prune", { exclusiveBefore, limit }),
  settingsOf: (tenantId) => thread.call("settingsOf", tenantId),
  putSettings: (tenantId, settings) => thread.call("putSettings", { tenantId, settings }),
  tenants: (range, limit) => thread.call("tenants", { ...range, limit }),
  openCount: (tenantId, limit) => thread.call("openCount", { tenantId, limit }),
})
