// Finds a Chromium for the tests of pages: the one that CHROMIUM names, one installed on the machine, or Debian's
// package, which the tests fetch once into the cache of the user, together with the libraries that the machine lacks.
// Nothing is installed, so this needs no root. The headless shell comes first: it is Chromium without the windows of a
// desktop, and needs half of the processor time.
import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"
import { librariesBelow, unpackDebian, withMissingLibraries } from "./DebianPackages.ts"
import { fetchedFolder } from "./fetchedFolder.ts"

export interface ChromiumBinary {
  readonly path: string
  /** The folder with its libraries and fonts, if it was fetched. */
  readonly unpackedIn?: string
}

let found: ChromiumBinary | { readonly missing: string } | undefined

/** The search runs once. If Chromium must be fetched, it can take a minute. */
export const chromiumBinary = (): ChromiumBinary | { readonly missing: string } => {
  found ??= locate()
  return found
}

/** The variables that a fetched Chromium needs. `fontSettings` is the file with `fontSettingsOf`. */
export const environmentOf = (
  { unpackedIn }: ChromiumBinary,
  fontSettings: string,
): Readonly<Record<string, string>> =>
  unpackedIn === undefined
    ? {}
    : { LD_LIBRARY_PATH: librariesBelow(unpackedIn), FONTCONFIG_FILE: fontSettings }

/** Text for fontconfig: the fetched fonts, and those of the machine. Pages are drawn as on the desktops of most readers. */
export const fontSettingsOf = ({ unpackedIn = "" }: ChromiumBinary): string => {
  const families = [
    ["sans-serif", "Inter"],
    ["system-ui", "Inter"],
    ["monospace", "DejaVu Sans Mono"],
  ]
  const aliases = families.map(
    ([family, font]) => `<alias><family>${family}</family><prefer><family>${font}</family></prefer></alias>`,
  )
  return `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>${unpackedIn}/usr/share/fonts</dir><dir>/usr/share/fonts</dir><cachedir prefix="xdg">fontconfig</cachedir>${aliases.join("")}</fontconfig>`
}

const locate = (): ChromiumBinary | { readonly missing: string } => {
  const named = process.env["CHROMIUM"]
  if (named !== undefined && named !== "") {
    return isExecutable(named) ? { path: named } : { missing: `CHROMIUM=${named} is not an executable file` }
  }
  return (
    installed() ??
    fetched() ?? {
      missing: "no Chromium: install one, set CHROMIUM to its path, or allow apt-get to fetch it",
    }
  )
}

const installed = (): ChromiumBinary | undefined => {
  const path = (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "")
    .flatMap((folder) =>
      ["chromium-headless-shell", "chromium", "google-chrome"].map((name) => join(folder, name)),
    )
    .find(isExecutable)
  return path === undefined ? undefined : { path }
}

const fetched = (): ChromiumBinary | undefined => {
  const folder = fetchedFolder({
    name: "chromium-headless-shell",
    fill: (folder) => {
      const packages = withMissingLibraries(["chromium-headless-shell", "fonts-dejavu-core", "fonts-inter"])
      return packages.length > 0 && unpackDebian(packages, folder, "The tests of pages need Chromium")
    },
  })
  // The script in usr/bin would look for the program in /usr/lib.
  return folder === undefined
    ? undefined
    : { path: join(folder, "usr", "lib", "chromium", "chromium-headless-shell"), unpackedIn: folder }
}

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
