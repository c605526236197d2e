// Which namespaces have webhook secrets, counted record by record in bounded memory: a store may have very many.
import type { SealedSecret } from "../../domain/NamespaceSettings.ts"
import { namedMost, type SealedSecrets } from "../../ports/StoreReport.ts"
import type { SettingsRecord } from "./SettingsRecords.ts"

export class SealedTally {
  #namespaces = 0
  readonly #samples: Array<{ readonly namespace: string; readonly secret: SealedSecret }> = []

  note({ namespace, settings }: Pick<SettingsRecord, "namespace" | "settings">): void {
    const [secret] = settings.webhookSecrets ?? []
    if (secret === undefined) return
    this.#namespaces++
    if (this.#samples.length < namedMost) this.#samples.push({ namespace, secret })
  }

  /** Undefined if there are none. */
  get found(): SealedSecrets | undefined {
    return this.#namespaces === 0 ? undefined : { namespaces: this.#namespaces, samples: this.#samples }
  }
}
