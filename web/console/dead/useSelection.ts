/** Which rows the reader has selected. Only the reader changes it. */
import { useState } from "react"
import type { Timer } from "../api.ts"
import { rowKey } from "../timers/useTimerPages.ts"

export interface Selection {
  readonly timers: ReadonlyArray<Timer>
  /** All timers that match the filter, also those that are not in the list. */
  readonly isEverything: boolean
  readonly has: (timer: Timer) => boolean
  /** Selects all of them, or none of them if all were selected. */
  readonly toggle: (timers: ReadonlyArray<Timer>) => void
  readonly selectEverything: () => void
  readonly clear: () => void
}

export const useSelection = (listed: ReadonlyArray<Timer>): Selection => {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  const [isEverything, setEverything] = useState(false)
  const has = (timer: Timer) => keys.has(rowKey(timer))
  const change = (next: ReadonlySet<string>, everything = false) => {
    setKeys(next)
    setEverything(everything)
  }
  return {
    timers: listed.filter(has),
    isEverything,
    has,
    toggle: (timers) => {
      const names = new Set(timers.map(rowKey))
      const others = new Set([...keys].filter((key) => !names.has(key)))
      change(keys.size - others.size === names.size ? others : new Set([...others, ...names]))
    },
    selectEverything: () => change(new Set(listed.map(rowKey)), true),
    clear: () => change(new Set()),
  }
}
