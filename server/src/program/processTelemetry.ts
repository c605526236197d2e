// The traces and logs of this process, if its settings ask for them.
import { hostname } from "node:os"
import { makeTelemetry, type Telemetry } from "@punctual/telemetry/Telemetry"
import type { TelemetryChoice } from "@punctual/telemetry/telemetrySettings"
import { build } from "./Build.ts"

/** `undefined` if nothing is exported: then tracing costs nothing. `namePrefix` begins the names of metrics. */
export const processTelemetry = (
  choice: TelemetryChoice | undefined,
  nodeName: string | undefined,
  namePrefix: string,
): Telemetry | undefined =>
  choice &&
  makeTelemetry({
    choice,
    namePrefix,
    resource: {
      "service.name": "punctual",
      "service.version": build.version,
      "service.instance.id": nodeName ?? `${hostname()}:${process.pid}`,
      "host.name": hostname(),
      "process.pid": process.pid,
      "telemetry.sdk.name": "punctual",
      "telemetry.sdk.language": "nodejs",
      "telemetry.sdk.version": build.version,
    },
  })
