// What a caller may see of a timer. Payloads and headers of targets may contain personal data and credentials, and the
// answers of receivers may repeat them. So only callers with the action payload.read see them.
import type { Caller } from "@punctual/door/Caller"
import { withoutAnswers } from "../domain/AttemptLog.ts"
import type { FinishedLife, OnDead, Spec, Target, Timer } from "../domain/Timer.ts"
import type { TimerView } from "../engine/front/Scheduler.ts"

export const shownTo = (caller: Caller, view: TimerView): TimerView => {
  if ("timer" in view) {
    return maySee(caller, view.timer) ? view : { ...view, timer: withoutContent(view.timer) }
  }
  return maySee(caller, view.life) ? view : { ...view, life: withoutContent(view.life) }
}

const maySee = (caller: Caller, { namespace }: { readonly namespace: string }): boolean =>
  caller.may("payload.read", namespace)

/** The settings of a namespace may name a target too. */
export const onDeadShownTo = <Dead extends Target | OnDead>(
  caller: Caller,
  namespace: string,
  onDead: Dead,
): Dead => (caller.may("payload.read", namespace) ? onDead : withoutHeaders(onDead))

const withoutContent = <Row extends Timer | FinishedLife>(row: Row): Row => {
  const { payload: _, ...rest } = row
  const attemptLog = row.attemptLog && withoutAnswers(row.attemptLog)
  // The type of a row without its optional payload is the type of the row.
  return { ...rest, spec: specWithoutHeaders(row.spec), ...(attemptLog && { attemptLog }) } as Row
}

/** Many timers share a spec, and their texts are remembered by it, so the copy is made once. */
const specs = new WeakMap<Spec, Spec>()

const specWithoutHeaders = (spec: Spec): Spec => {
  const known = specs.get(spec)
  if (known !== undefined) return known
  const { target, onDead } = spec
  const hidden = {
    ...spec,
    target: withoutHeaders(target),
    ...(onDead === undefined ? {} : { onDead: withoutHeaders(onDead) }),
  }
  specs.set(spec, hidden)
  return hidden
}

/** The query of a URL often contains a token, too. */
const withoutHeaders = <To extends Target | OnDead>(target: To): To => {
  if (!("url" in target)) return target
  const { headers: _, ...rest } = target
  // The type of a target without its optional headers is the type of the target.
  return { ...rest, url: target.url.replace(/\?.*$/s, "?…") } as To
}
