// The program: it passes the lists of adapters to the composition roots (service.ts, storeKeeping.ts). If the service
// cannot start, one line says why. The exit code is 1 if the service could not start or had to stop, and 2 for wrong
// usage.
import "effect/schema/SchemaJITCompiler/enable"
import { writeSync } from "node:fs"
import { allBuses } from "@punctual/server/buses/all"
import { build, versionJson, versionLine } from "@punctual/server/program/Build"
import { installDriver } from "@punctual/server/program/drivers"
import { runService } from "@punctual/server/service"
import { allStores } from "@punctual/server/stores/all"
import { agentPages } from "./agentPages.ts"
import { consolePages } from "./consolePages.ts"
import { docsPages } from "./docsPages.ts"

// A compiled executable has its file at the root of the sources, so the path of the worker differs there.
const workerUrl = new URL(
  build.built === undefined
    ? "../../server/src/stores/sqlite/worker.ts"
    : "./server/src/stores/sqlite/worker.ts",
  import.meta.url,
)

const agentWorkerUrl = new URL(
  build.built === undefined
    ? "../../agent/src/stores/sqlite/worker.ts"
    : "./agent/src/stores/sqlite/worker.ts",
  import.meta.url,
)

const adapters = { stores: allStores, buses: allBuses }

/** Returns the exit code. */
export const program = async (args: ReadonlyArray<string>): Promise<number> => {
  const [first = "serve", second] = args
  const environment = process.env
  const serviceParts = async () => {
    const pages = await consolePages()
    const docs = await docsPages()
    return {
      environment,
      adapters,
      workerUrl,
      installDriver,
      ...(pages === undefined ? {} : { pages }),
      ...(docs === undefined ? {} : { docs }),
      onFatal: fail,
      writeError,
    }
  }
  if (first === "serve" && second === undefined) return runService(await serviceParts())
  if (first === "agent" && !args.includes("--help") && !args.includes("-h")) {
    // Only this command needs the agent, so a service does not load it.
    const { runAgent } = await import("./agentProgram.ts")
    const pages = await agentPages()
    return runAgent(args.slice(1), {
      ...(await serviceParts()),
      agentWorkerUrl,
      ...(pages === undefined ? {} : { agentPages: pages }),
    })
  }
  if (first === "--version" || first === "-v") {
    return say(second === "--json" ? versionJson(build) : versionLine(build))
  }
  // The start of the service must not load the commands, so they are imported only here.
  const [{ runPunctual }, { storeKeeping }, { trialDelivery }] = await Promise.all([
    import("./commands.ts"),
    import("@punctual/server/storeKeeping"),
    import("@punctual/server/deliverers/webhook/trialDelivery"),
  ])
  const { archive, importTarget, ...keeping } = storeKeeping({
    environment,
    stores: adapters.stores,
    workerUrl,
    installDriver,
  })
  return runPunctual(args, {
    input: { environment, stdin: () => process.stdin },
    adapters,
    trialDelivery,
    openArchive: archive,
    openImportTarget: importTarget,
    keeping,
  })
}

const say = (text: string): number => {
  process.stdout.write(text)
  return 0
}

const writeError = (message: string): void => {
  writeSync(2, `punctual: ${message.replaceAll("\n", " ")}\n`)
}

/** Exits at once: the service must acknowledge nothing after this. */
const fail = (message: string): never => {
  writeError(message)
  process.exit(1)
}
