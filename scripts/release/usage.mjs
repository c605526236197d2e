// What `npm run release -- --help` prints. It is plain JavaScript, because run.mjs prints it before anything is installed.

/** The names of the platforms, in the order of executables.ts. */
const names = [
  "linux-x64",
  "linux-x64-baseline",
  "linux-arm64",
  "linux-x64-musl",
  "linux-arm64-musl",
  "darwin-x64",
  "darwin-arm64",
  "windows-x64",
]

export const releaseUsage = `npm run release -- [options]
  --dry-run         build everything, and print the commands that would publish it
  --out FOLDER      where the files go (default dist/release); the folder is emptied first
  --only NAMES      only these platforms, separated by commas; only with --dry-run
                    ${names.slice(0, 5).join(", ")},
                    ${names.slice(5).join(", ")}
  --registry NAME   also publish the image there, such as ghcr.io/example
  --help            print this text

linux-x64-baseline is for older processors without AVX2. The image needs linux-x64-baseline or linux-arm64.`
