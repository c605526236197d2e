// How much the client adds to a program, beside other clients: `bun sdks/typescript/sizes.ts` bundles and minifies each with
// the same bundler, and writes SIZES.md.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { installRegistry } from "./installRegistry.ts"

const here = fileURLToPath(new URL(".", import.meta.url))

export interface Size {
  readonly minifiedBytes: number
  readonly gzipBytes: number
}

/** The size of a program that uses what the text exports. `folder` is where its imports are looked for. */
export const sizeOf = async (folder: string, text: string): Promise<Size> => {
  const place = mkdtempSync(join(folder, ".size-"))
  try {
    const entry = join(place, "entry.ts")
    writeFileSync(entry, text)
    const built = await Bun.build({ entrypoints: [entry], minify: true, target: "node" })
    const [output] = built.outputs
    if (output === undefined) throw new Error(`nothing was built of ${text}`)
    const bytes = new Uint8Array(await output.arrayBuffer())
    return { minifiedBytes: bytes.length, gzipBytes: Bun.gzipSync(bytes).length }
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

/** The parts of this package: the client with its timers is what most programs need. */
export const ownParts = {
  "@punctual/client": 'export { Punctual } from "../src/index.ts"',
  "@punctual/client/webhooks": 'export { handler } from "../src/webhooks.ts"',
  "@punctual/client with /webhooks and /admin":
    'export { Punctual } from "../src/index.ts"; export { handler } from "../src/webhooks.ts"; export { admin } from "../src/admin.ts"',
} as const

const others = {
  stripe: 'export { default } from "stripe"',
  openai: 'export { default } from "openai"',
  svix: 'export { Svix, Webhook } from "svix"',
  "@upstash/qstash": 'export { Client, Receiver } from "@upstash/qstash"',
} as const

const kilobytes = (bytes: number): string => (bytes / 1000).toFixed(1)

const row = (name: string, { minifiedBytes, gzipBytes }: Size): string =>
  `| ${name} | ${kilobytes(minifiedBytes)} | ${kilobytes(gzipBytes)} |`

const main = async (): Promise<void> => {
  const modules = installRegistry((line) => process.stderr.write(`${line}\n`))
  const rows: Array<string> = []
  for (const [name, text] of Object.entries(ownParts)) rows.push(row(name, await sizeOf(here, text)))
  for (const [name, text] of Object.entries(others)) {
    const { version } = JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8"))
    rows.push(row(`${name} ${version}`, await sizeOf(join(modules, ".."), text)))
  }
  const text = `# Size of the client

What a program gets larger by, bundled and minified by Bun ${Bun.version} for Node, dependencies included. The others do much more
than timers; the table only shows that the client is small. \`bun sdks/typescript/sizes.ts\` writes this file.

| package | minified, kB | gzip, kB |
| --- | --- | --- |
${rows.join("\n")}
`
  writeFileSync(join(here, "SIZES.md"), text)
  process.stdout.write(text)
}

if (import.meta.main) await main()
