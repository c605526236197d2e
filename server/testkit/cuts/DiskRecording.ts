// Records what a process does to the files of its store: every write with its bytes, every sync, and every file that
// appears or disappears, in the order in which the kernel did it. strace writes this down (Strace.ts).
import { spawn } from "node:child_process"
import { createReadStream, readFileSync } from "node:fs"
import { basename } from "node:path"
import { createInterface } from "node:readline"
import { tracer } from "../Strace.ts"

/** `file` is the name of a file in the recorded folder. */
export type DiskOperation =
  | { readonly kind: "write"; readonly file: string; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly kind: "truncate"; readonly file: string; readonly size: number }
  | { readonly kind: "sync" | "create" | "remove"; readonly file: string }
  /** The folder itself: from then on files that appeared or disappeared stay so. */
  | { readonly kind: "syncFolder" }
  /** The process has told somebody that this write was answered. */
  | { readonly kind: "answered"; readonly write: number }

export interface RecordedPlace {
  readonly folder: string
  /** The files in the folder to record, as paths. */
  readonly files: ReadonlyArray<string>
  /** Processes append numbers of answered writes to this file, one in each line. */
  readonly answersFile: string
}

const calls = "openat,write,pwrite64,ftruncate,fsync,fdatasync,unlink,rename,fallocate,pwritev,writev"
const longestWrite = 1 << 20

/** A call on the recorded files that fails. */
export interface InjectedFault {
  readonly call: "pread64" | "pwrite64" | "fsync"
  readonly error: "EIO" | "ENOSPC"
  /** Which of a thread's calls fails. */
  readonly when: number
}

/** Runs a process to its end. Returns its exit code, or undefined if a signal ended it. */
export const record = (
  { folder, files, answersFile }: RecordedPlace,
  args: ReadonlyArray<string>,
  traceFile: string,
  fault?: InjectedFault,
): Promise<number | undefined> => {
  const { command, environment } = tracer()
  const paths = [folder, answersFile, ...files].flatMap((path) => ["-P", path])
  const options = ["-f", "--seccomp-bpf", "-qq", "-y", "-xx", "-s", `${longestWrite}`, "-o", traceFile]
  const traced = fault?.call === "pread64" ? `${calls},pread64` : calls
  const inject =
    fault === undefined ? [] : ["-e", `inject=${fault.call}:error=${fault.error}:when=${fault.when}`]
  const filter = ["-e", `trace=${traced}`, "-e", "signal=none", ...inject]
  const child = spawn(command, [...options, ...paths, ...filter, process.execPath, ...args], {
    env: environment,
    // A process with a failing disk says so. Otherwise nothing is said.
    stdio: ["ignore", "inherit", fault === undefined ? "inherit" : "ignore"],
  })
  return new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code) => resolve(code ?? undefined))
  })
}

/** Reads the traces of several processes, one after the other. */
export class TraceReader {
  readonly operations: Array<DiskOperation> = []
  readonly #place: RecordedPlace
  readonly #names: ReadonlySet<string>
  readonly #known: Set<string>
  /** How many calls failed because a fault was injected. */
  injected = 0
  /** Calls that other threads interrupted, by the thread. */
  readonly #unfinished = new Map<string, string>()

  /** `known` are the files that exist already. */
  constructor(place: RecordedPlace, known: Iterable<string> = []) {
    this.#place = place
    this.#known = new Set(known)
    this.#names = new Set(place.files.map((file) => basename(file)))
  }

  get known(): Iterable<string> {
    return this.#known
  }

  /** Must be called when the process has ended, and before another one changes the files. */
  async read(traceFile: string): Promise<void> {
    for await (const line of createInterface({ input: createReadStream(traceFile) })) this.#take(line)
    for (const text of this.#unfinished.values()) this.#takeInterrupted(text)
    this.#unfinished.clear()
  }

  /** An operation counts when its call has returned. An answer counts when its call begins. */
  #take(line: string): void {
    const [, thread = "", text = ""] = /^(\d+) +(.*)$/.exec(line) ?? []
    const begun = /^(.*) <unfinished \.\.\.>(?:\) += \?)?$/.exec(text)?.[1]
    if (begun?.startsWith("write(")) this.#takeCall(`${begun}) = ${longestWrite}`)
    else if (begun !== undefined) this.#unfinished.set(thread, begun)
    else {
      const resumed = /^<\.\.\. (?!write)\w+ resumed>(.*)$/.exec(text)?.[1]
      if (resumed === undefined) this.#takeCall(text)
      else {
        // The end of a process leaves calls without a result.
        if (/^\) += \?$/.test(resumed)) return
        this.#takeCall(`${this.#unfinished.get(thread) ?? ""}${resumed}`)
        this.#unfinished.delete(thread)
      }
    }
  }

  /** The process was killed within a write. The file shows how far the write came. */
  #takeInterrupted(text: string): void {
    const [, hexPath] = /^pwrite64\(\d+<([^>]*)>/.exec(text) ?? []
    if (hexPath === undefined) return
    const offset = Number(/, (\d+)$/.exec(text)?.[1])
    const quoted = text.indexOf('"')
    const bytes = bytesOfHex(text.slice(quoted + 1, text.indexOf('"', quoted + 1)))
    const real = readFileSync(textOfHex(hexPath)).subarray(offset, offset + bytes.byteLength)
    const different = bytes.findIndex((byte, index) => byte !== real[index])
    const written = different === -1 ? bytes : bytes.subarray(0, different)
    if (written.byteLength === 0) return
    this.#add(textOfHex(hexPath), (file) => ({ kind: "write", file, offset, bytes: written }))
  }

  #takeCall(text: string): void {
    const [, call, args = "", result = ""] = /^(\w+)\((.*)\) += (-?\d+)/.exec(text) ?? []
    if (text.endsWith("(INJECTED)")) this.injected++
    if (call === undefined || Number(result) < 0) return
    const path = /^\d+<([^>]*)>/.exec(args)?.[1]
    switch (call) {
      case "openat":
        this.#opened(args)
        return
      case "unlink":
        this.#removed(args)
        return
      case "fsync":
      case "fdatasync":
        this.#synced(textOfHex(path ?? ""))
        return
      case "ftruncate": {
        const size = Number(/, (\d+)$/.exec(args)?.[1])
        this.#add(textOfHex(path ?? ""), (file) => ({ kind: "truncate", file, size }))
        return
      }
      case "pread64":
        return
      case "pwrite64":
      case "write":
        this.#written(call, textOfHex(path ?? ""), args, Number(result))
        return
      default:
        throw new Error(`the recording has a call that it does not know: ${text.slice(0, 200)}`)
    }
  }

  #written(call: string, path: string, args: string, written: number): void {
    const quoted = args.indexOf('"')
    const bytes = bytesOfHex(args.slice(quoted + 1, args.indexOf('"', quoted + 1))).subarray(0, written)
    if (path === this.#place.answersFile) {
      this.operations.push({ kind: "answered", write: Number(Buffer.from(bytes).toString()) })
      return
    }
    if (call === "write") throw new Error(`${path} was written without an offset`)
    const offset = Number(/, \d+, (\d+)$/.exec(args)?.[1])
    this.#add(path, (file) => ({ kind: "write", file, offset, bytes }))
  }

  /** A file is new if it was opened with O_CREAT, and did not exist before. */
  #opened(args: string): void {
    const name = basename(textOfHex(/, "([^"]*)"/.exec(args)?.[1] ?? ""))
    if (!args.includes("O_CREAT") || this.#known.has(name)) return
    if (!this.#names.has(name)) return
    this.#known.add(name)
    this.operations.push({ kind: "create", file: name })
  }

  #removed(args: string): void {
    const name = basename(textOfHex(/"([^"]*)"/.exec(args)?.[1] ?? ""))
    if (!this.#known.delete(name)) return
    this.operations.push({ kind: "remove", file: name })
  }

  #synced(path: string): void {
    if (path === this.#place.folder) this.operations.push({ kind: "syncFolder" })
    else this.#add(path, (file) => ({ kind: "sync", file }))
  }

  #add(path: string, make: (file: string) => DiskOperation): void {
    const name = basename(path)
    if (this.#names.has(name)) this.operations.push(make(name))
  }
}

/** `\x41\x42`, or plain text. */
const textOfHex = (text: string): string =>
  text.startsWith("\\x") ? Buffer.from(bytesOfHex(text)).toString() : text

const bytesOfHex = (text: string): Uint8Array => Buffer.from(text.replaceAll("\\x", ""), "hex")
