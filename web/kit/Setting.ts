/** A choice of the reader that the browser keeps, such as the theme. All open tabs of the console share it. */
import { useSyncExternalStore } from "react"

export class Setting<A> {
  readonly #name: string
  readonly #listeners = new Set<() => void>()
  #value: A

  /** `isValid` judges what the browser kept. It may be from another version of the console. */
  constructor(name: string, initial: A, isValid: (value: unknown) => value is A) {
    this.#name = `punctual.${name}`
    const read = (text: string | null): A => {
      try {
        const value: unknown = text === null ? initial : JSON.parse(text)
        return isValid(value) ? value : initial
      } catch {
        return initial
      }
    }
    this.#value = read(stored(this.#name))
    window.addEventListener("storage", ({ key, newValue }) => {
      if (key === this.#name) this.#take(read(newValue))
    })
  }

  get value(): A {
    return this.#value
  }

  set(value: A): void {
    try {
      localStorage.setItem(this.#name, JSON.stringify(value))
    } catch {
      // The browser keeps nothing for this site. The choice still holds in this tab.
    }
    this.#take(value)
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #take(value: A): void {
    this.#value = value
    for (const listener of this.#listeners) listener()
  }
}

const stored = (name: string): string | null => {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

export const useSetting = <A>(setting: Setting<A>): A =>
  useSyncExternalStore(setting.subscribe, () => setting.value)
