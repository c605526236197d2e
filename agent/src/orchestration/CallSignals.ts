// Tells other parts of the process about changes of calls: open pages about the calls of their tenant, and the
// dispatcher about new messages. It stores nothing. A listener that throws does not disturb the others.
import { Context, Latch, Layer } from "effect"
import type { CallRecord } from "../domain/CallRecord.ts"

type CallListener = (record: CallRecord) => void

export class CallSignals extends Context.Service<
  CallSignals,
  {
    /** A change of a call is stored. */
    changed(record: CallRecord): void
    /** Returns how to stop. */
    watch(tenantId: string, listener: CallListener): () => void
    /** Open if there may be messages to publish. The dispatcher closes it before it looks. */
    readonly messages: Latch.Latch
  }
>()("punctual/agent/CallSignals") {
  static readonly layer = Layer.sync(CallSignals, () => {
    const listeners = new Map<string, Set<CallListener>>()
    const messages = Latch.makeUnsafe(true)
    return {
      messages,
      changed: (record) => {
        messages.openUnsafe()
        for (const listener of listeners.get(record.call.tenantId) ?? []) {
          try {
            listener(record)
          } catch {
            // The listener is at fault. Others must still hear of the change.
          }
        }
      },
      watch: (tenantId, listener) => {
        const own = listeners.get(tenantId) ?? new Set()
        listeners.set(tenantId, own)
        own.add(listener)
        return () => {
          own.delete(listener)
          if (own.size === 0 && listeners.get(tenantId) === own) listeners.delete(tenantId)
        }
      },
    }
  })
}
