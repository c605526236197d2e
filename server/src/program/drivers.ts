// Drivers are packages that the runtime does not have: the clients of brokers and of databases. Each has a folder in
// drivers/ with its own lockfile. It is installed when a URL with its scheme is first configured, so that nobody
// installs a client that they do not use. An executable contains all of them.
import { writeSync } from "node:fs"
import { Effect } from "effect"
import type { Adapter, AdapterFailure } from "../ports/Adapter.ts"
import { build } from "./Build.ts"

/** Installs the named driver, unless it is already installed. */
export type InstallDriver = (name: string) => Effect.Effect<void, AdapterFailure>

/**
 * A driver must be installed before anything imports it, because Bun remembers a failed import. The call blocks the
 * process, but nothing else runs yet.
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

/** Installs the drivers that the choices need. */
export const driversOf = (
  choices: ReadonlyArray<{ readonly adapter: Pick<Adapter<unknown>, "driver"> }>,
  install: InstallDriver,
): Effect.Effect<void, AdapterFailure> =>
  Effect.forEach(
    choices.flatMap(({ adapter: { driver } }) => (driver === undefined ? [] : [driver])),
    install,
    { discard: true },
  )
