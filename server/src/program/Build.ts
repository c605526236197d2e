// Identifies this program: its version, and for an executable also the commit and the time of the build. The build
// inserts these two (scripts/build.mjs). A program that runs from its sources has neither, and says so.
import manifest from "../../package.json" with { type: "json" }

declare const PUNCTUAL_COMMIT: string | undefined
declare const PUNCTUAL_BUILT_AT: string | undefined

export interface Build {
  readonly version: string
  /** Only present in an executable. */
  readonly built?: { readonly commit: string; readonly at: string }
}

export const build: Build =
  typeof PUNCTUAL_COMMIT === "string" && typeof PUNCTUAL_BUILT_AT === "string"
    ? { version: manifest.version, built: { commit: PUNCTUAL_COMMIT, at: PUNCTUAL_BUILT_AT } }
    : { version: manifest.version }

export const versionLine = ({ version, built }: Build): string =>
  built === undefined
    ? `punctual ${version} (from source)\n`
    : `punctual ${version} (commit ${built.commit}, built ${built.at})\n`

/** The same as JSON. Unknown values are null. */
export const versionJson = ({ version, built }: Build): string =>
  `${JSON.stringify({ version, commit: built?.commit ?? null, builtAt: built?.at ?? null })}\n`
