// Keys for an agent, as its door checks them.
import { Documents } from "@punctual/documents/Documents"
import { documentsIn, MemoryDocuments } from "@punctual/documents/memory/MemoryDocuments"
import { Gate } from "@punctual/door/Gate"
import { KeyDirectory } from "@punctual/door/KeyDirectory"
import type { Rights } from "@punctual/door/Rights"
import { Effect, Exit, Layer, Scope } from "effect"
import type { AgentHttpOptions } from "../../agent/src/http/AgentHttp.ts"

export interface MadeKeys {
  /** For the agent. */
  readonly keys: NonNullable<AgentHttpOptions["keys"]>
  /** Returns the text of a new key. */
  make(label: string, rights: Partial<Rights>): Promise<string>
}

export const withAgentKeys = async (use: (made: MadeKeys) => Promise<void>): Promise<void> => {
  const scope = await Effect.runPromise(Scope.make())
  try {
    const documents = Layer.succeed(Documents, documentsIn(new MemoryDocuments()))
    const services = await Effect.runPromise(
      Layer.buildWithScope(KeyDirectory.layer().pipe(Layer.provide(documents)), scope),
    )
    const directory = await Effect.runPromise(Effect.provide(KeyDirectory, services))
    const make = async (label: string, rights: Partial<Rights>): Promise<string> => {
      const key = { actions: ["*"], namespaces: ["*"], ...rights, label, madeBy: "a test" } as const
      return (await Effect.runPromise(directory.create(key, Date.now()))).text
    }
    // The first key must be that of an administrator.
    await make("admin", {})
    const gate = new Gate({ keys: directory, mode: "auto", nowMs: () => Date.now() })
    await use({ keys: { keys: directory, gate }, make })
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
