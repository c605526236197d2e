// The libraries that users install from the npm registry, besides the client (sdks/typescript/build.ts).
import { filesBelow } from "../repository.ts"
import type { Library } from "./libraryPackage.ts"

/** The contract: schemas and the HTTP API, for programs that check or generate requests. */
const api: Library = {
  workspace: "api",
  entries: filesBelow("api/src", ".ts"),
  exports: { "./*": "api/src/*.ts" },
  copied: [],
  apart: [],
  engines: { node: ">=20" },
  keywords: ["timer", "scheduler", "contract", "openapi"],
}

/** The engine inside a program. It needs Bun. */
const server: Library = {
  workspace: "server",
  entries: ["server/src/inprocess/Punctual.ts", "server/src/stores/sqlite/worker.ts"],
  exports: { ".": "server/src/inprocess/Punctual.ts" },
  copied: [],
  apart: ["api"],
  engines: { bun: ">=1.4.4" },
  keywords: ["timer", "scheduler", "durable", "delay", "job"],
}

export const libraries: ReadonlyArray<Library> = [api, server]
