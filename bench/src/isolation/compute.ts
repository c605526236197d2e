// Takes all processor time that others leave over, on every core, and never touches the service. The scene shows how late
// timers become on a machine that the attackers share, whatever they do.
import { availableParallelism } from "node:os"
import type { Tally } from "../Tally.ts"

/** The workers end with the process. */
export const compute = (tally: Tally): void => {
  const source = URL.createObjectURL(new Blob(["for (;;) Math.random()"]))
  for (let core = 0; core < availableParallelism(); core++) new Worker(source)
  tally.add("busy cores", availableParallelism())
}
