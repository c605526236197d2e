// Examines the settings in a store: whether all firing is stopped, and which settings are unreadable. The store passes
// their documents page by page.
import { changeOf, type DocumentRow } from "@punctual/documents/DocumentRow"
import type { ServicePause } from "../domain/NamespaceSettings.ts"
import { SealedTally } from "../engine/namespaces/SealedTally.ts"
import { serviceRecord, settingsOfDocument } from "../engine/namespaces/SettingsRecords.ts"
import { namedMost, type SealedSecrets, type UnreadableRows } from "../ports/StoreReport.ts"

export class SettingsExamination {
  /** The number of documents in a page. */
  static readonly pageItems = 500
  /** All changes up to this version were taken. */
  version = 0
  #pause: ServicePause | undefined
  #unreadable = 0
  readonly #named: Array<string> = []
  readonly #sealed = new SealedTally()

  /** Takes the next page, and returns whether there may be another. */
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
