// A Docker engine for the tests of the image, from Debian's packages, with its data in a temporary folder. It has no
// network of its own, because that would change the rules of the machine's firewall: containers use the network of the
// machine. The engine needs root.
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { unpackDebian } from "./DebianPackages.ts"
import { composeProgram } from "./DockerCompose.ts"
import { fetchedFolder } from "./fetchedFolder.ts"
import { ServerProcess } from "./ServerProcess.ts"

export type DockerPrograms = { readonly folder: string } | { readonly missing: string }

const runWithinMs = 300_000

let found: DockerPrograms | undefined

/** The programs of Docker. Searched once. */
export const dockerPrograms = (): DockerPrograms => {
  found ??= locate()
  return found
}

const locate = (): DockerPrograms => {
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    return { missing: "a Docker engine needs Linux and root" }
  const packages = ["docker.io", "containerd", "runc"]
  const folder = fetchedFolder({
    name: "docker-1",
    fill: (into) => unpackDebian(packages, join(into, "root"), "The tests need a Docker engine"),
  })
  return folder === undefined
    ? { missing: "no Docker engine: allow apt-get to fetch Debian's packages" }
    : { folder: join(folder, "root") }
}

export class DockerEngine implements AsyncDisposable {
  readonly #server: ServerProcess
  readonly #environment: Readonly<Record<string, string>>

  private constructor(server: ServerProcess, environment: Readonly<Record<string, string>>) {
    this.#server = server
    this.#environment = environment
  }

  /** Returns when the engine answers. */
  static async start(): Promise<DockerEngine> {
    const programs = dockerPrograms()
    if ("missing" in programs) throw new Error(programs.missing)
    const { folder } = programs
    const path = ["usr/sbin", "usr/bin"].map((name) => join(folder, name)).join(":")
    const environment = { PATH: `${path}:${process.env["PATH"]}`, DOCKER_BUILDKIT: "0" }
    const server = await ServerProcess.start({
      title: "Docker",
      program: ({ folder: data }) => ({
        command: join(folder, "usr/sbin/dockerd"),
        args: [
          ...["--iptables=false", "--ip6tables=false", "--bridge=none", "--storage-driver=vfs"],
          ...["--data-root", join(data, "data"), "--exec-root", join(data, "exec")],
          ...["--pidfile", join(data, "pid"), "--host", socketIn(data)],
        ],
        env: environment,
      }),
      isReady: (_, logs) => logs.some((line) => line.includes("API listen on")),
    })
    return new DockerEngine(server, { ...environment, DOCKER_HOST: socketIn(server.place.folder) })
  }

  /** Runs `docker` with these arguments, and returns what it printed. */
  docker(...args: ReadonlyArray<string>): string {
    return this.#run("docker", args)
  }

  /** Runs Docker Compose with these arguments on this engine. */
  compose(...args: ReadonlyArray<string>): string {
    const { command, args: first } = composeProgram()
    return this.#run(command, [...first, ...args])
  }

  #run(command: string, args: ReadonlyArray<string>): string {
    return execFileSync(command, args, {
      encoding: "utf8",
      env: { ...process.env, ...this.#environment },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: runWithinMs,
    })
  }

  /**
   * Makes a base image out of Debian's packages under this name: what the real base has, as far as the service needs it.
   */
  importBase(name: string): void {
    const folder = fetchedFolder({ name: "image-base-1", fill: fillBase })
    if (folder === undefined) throw new Error("no base: apt-get could not fetch libc6")
    this.docker("import", join(folder, "base.tar"), name)
  }

  /** Containers and mounts would outlive the engine. */
  async [Symbol.asyncDispose](): Promise<void> {
    const containers = this.docker("ps", "--all", "--quiet").split("\n").filter(Boolean)
    if (containers.length > 0) this.docker("rm", "--force", ...containers)
    await this.#server.stop()
    for (const mount of mountsBelow(this.#server.place.folder)) execFileSync("umount", ["--lazy", mount])
    await this.#server[Symbol.asyncDispose]()
  }
}

const fillBase = (folder: string): boolean => {
  const base = join(folder, "base")
  if (!unpackDebian(["libc6", "base-files", "netbase"], base, "The test of the image needs a base"))
    return false
  mkdirSync(join(base, "etc"), { recursive: true })
  writeFileSync(join(base, "etc/passwd"), "nonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")
  execFileSync("tar", ["--create", "--file", join(folder, "base.tar"), "--directory", base, "."])
  return true
}

const socketIn = (folder: string): string => `unix://${join(folder, "docker.sock")}`

/** The innermost first. */
const mountsBelow = (folder: string): ReadonlyArray<string> =>
  readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .flatMap((line) => line.split(" ")[1] ?? [])
    .filter((path) => path.startsWith(`${folder}/`))
    .reverse()
