// A process that only computes, with the lowest priority. It shows what a busy machine alone costs, without any work for the
// service. The bench says when it begins (LowPriorityProcess.ts).
import { obeyBench } from "../obeyBench.ts"

/** Between two pieces the process reads what the bench says. */
const pieceMs = 20

const compute = (): void => {
  const untilMs = performance.now() + pieceMs
  while (performance.now() < untilMs);
  setImmediate(compute)
}

await obeyBench(async () => ({ begin: compute }))
