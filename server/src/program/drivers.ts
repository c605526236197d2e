// Drivers are packages that the runtime does not have: the clients of brokers and of databases. Each has a folder in
// drivers/ with its own lockfile, and is installed when a URL first names a scheme that needs it; so nobody installs the
// client of a broker that he does not use. An executable carries all of them.
import { writeSync } from "node:fs"
import { Effect } from "effect"
import type { Adapter, AdapterFailure } from "../ports/Adapter.ts"
import { build } from "./Build.ts"

/** Installs the driver of the name, unless it is there. */
export type InstallDriver = (name: string) => Effect.Effect<void, AdapterFailure>

/**
 * The driver must be installed before anything imports it, because Bun remembers a failed import. The call blocks the
 * process; nothing else runs yet.
 */
export const installDriver: InstallDriver = (name) =>
  build.built === undefined
    ? Effect.flatMap(
        Effect.promise(() => import("../../../scripts/install.mjs")),
        (scripts) =>
          scripts.installDriver(name, (line) => writeSync(2, `${line}\n`))
            ? Effect.void
            : Effect.fail({
                message: `the driver ${name} could not be installed: \`npm ci\` failed in drivers/${name}; its message is above. Fix that and start again.`,
              }),
      )
    : Effect.void

/** Installs what the choices need. */
export const driversOf = (
  choices: ReadonlyArray<{ readonly adapter: Pick<Adapter<unknown>, "driver"> }>,
  install: InstallDriver,
): Effect.Effect<void, AdapterFailure> =>
  Effect.forEach(
    choices.flatMap(({ adapter: { driver } }) => (driver === undefined ? [] : [driver])),
    install,
    { discard: true },
  )
