// Specs as JSON text and back. Most timers of a program share a few specs, so both ways are
// remembered: objects by identity, texts in a cache that is emptied when it is full.
import type { Spec } from "../domain/Timer.ts"

const mostCached = 1_000
const specs = new Map<string, Spec>()
const texts = new WeakMap<Spec, string>()

export const textOfSpec = (spec: Spec): string => {
  const known = texts.get(spec)
  if (known !== undefined) return known
  const text = JSON.stringify(spec)
  texts.set(spec, text)
  return text
}

export const specOfText = (text: string): Spec => {
  const known = specs.get(text)
  if (known !== undefined) return known
  const spec: Spec = JSON.parse(text)
  if (specs.size === mostCached) specs.clear()
  specs.set(text, spec)
  texts.set(spec, text)
  return spec
}
