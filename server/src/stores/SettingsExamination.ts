// What an examined store says of its settings: whether all firing is stopped, which settings cannot be read, and which
// namespaces have sealed secrets. A store gives it page after page of their documents.
import { changeOf, type DocumentRow } from "@punctual/documents/DocumentRow"
import type { ServicePause } from "../domain/NamespaceSettings.ts"
import { SealedTally } from "../engine/namespaces/SealedTally.ts"
import { serviceRecord, settingsOfDocument } from "../engine/namespaces/SettingsRecords.ts"
import { namedMost, type SealedSecrets, type UnreadableRows } from "../ports/StoreReport.ts"

export class SettingsExamination {
  /** How many documents a page has. */
  static readonly pageItems = 500
  /** All changes up to this version were taken. */
  version = 0
  #pause: ServicePause | undefined
  #unreadable = 0
  readonly #named: Array<string> = []
  readonly #sealed = new SealedTally()

  /** Takes the next page; answers whether there may be another. */
  take(page: ReadonlyArray<DocumentRow>): boolean {
    for (const row of page) {
      const { namespace, settings, version, isUnreadable } = settingsOfDocument(changeOf(row))
      this.version = version
      if (namespace === serviceRecord) this.#pause = settings.pause
      this.#sealed.note({ namespace, settings })
      if (isUnreadable !== true) continue
      this.#unreadable++
      if (this.#named.length < namedMost) this.#named.push(namespace)
    }
    return page.length === SettingsExamination.pageItems
  }

  get found(): {
    readonly pause?: ServicePause
    readonly sealed?: SealedSecrets
    readonly unreadable: ReadonlyArray<UnreadableRows>
  } {
    const sealed = this.#sealed.found
    return {
      ...(this.#pause === undefined ? {} : { pause: this.#pause }),
      ...(sealed === undefined ? {} : { sealed }),
      unreadable:
        this.#unreadable === 0 ? [] : [{ what: "settings", count: this.#unreadable, named: this.#named }],
    }
  }
}
