// Lets the thread that reads give way to the others. Lists and counts take milliseconds of a core. Without this, on a
// machine with few cores, the thread that fires timers and the one that writes would wait for them.
import { getPriority, setPriority } from "node:os"

/** How much nicer the thread is than the process. It still gets a third of what another thread gets. */
export const nicerBy = 5
const nicest = 19

/** Linux knows the priority of a thread. Elsewhere the call would change that of the whole process. */
export const lowerOwnPriority = (): void => {
  if (process.platform !== "linux") return
  try {
    setPriority(Math.min(nicest, getPriority() + nicerBy))
  } catch (error) {
    // A sandbox may forbid it. Then the thread reads with the priority of the process.
    const { code } = error as NodeJS.ErrnoException
    if (code !== "EPERM" && code !== "EACCES") throw error
  }
}
