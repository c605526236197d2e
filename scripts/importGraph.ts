// Makes the picture in ARCHITECTURE.md that shows which room imports which. It reads the imports of the sources.
//
//   bun scripts/importGraph.ts           writes the picture
//   bun scripts/importGraph.ts --check   exit code 1 if the picture does not match the imports
//
// A room is a package, or a folder of the server. A folder of the server with the name of a package gets `server-` before
// its name. Rooms must not import each other in a circle, because a reader could
// then understand none of them without the others. The picture omits an arrow that follows from two others.
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { filesBelow, importsOf, productRoots, root, textOf } from "./repository.ts"

const document = "ARCHITECTURE.md"
const [begin, end] = ["<!-- rooms: made by scripts/importGraph.ts -->", "<!-- end of rooms -->"]

export type Graph = ReadonlyMap<string, ReadonlySet<string>>

/** The room of a file of the product; undefined for other files and packages. */
export const roomOf = (path: string): string | undefined => {
  const folder = productRoots.find((folder) => path.startsWith(`${folder}/`))
  if (folder === undefined) return undefined
  if (folder !== "server/src") return folder.slice(0, folder.indexOf("/"))
  const inner = path.slice(folder.length + 1)
  if (!inner.includes("/")) return "service"
  const name = inner.slice(0, inner.indexOf("/"))
  return productRoots.includes(`${name}/src`) ? `server-${name}` : name
}

export const importGraph = (): Graph => {
  const graph = new Map<string, Set<string>>()
  for (const path of productRoots.flatMap((folder) => filesBelow(folder, ".ts"))) {
    const room = roomOf(path)
    if (room === undefined) continue
    const imported = graph.get(room) ?? new Set<string>()
    graph.set(room, imported)
    for (const { from } of importsOf(path, textOf(path))) {
      const other = roomOf(from)
      if (other !== undefined && other !== room) imported.add(other)
    }
  }
  return graph
}

/** Rooms that import each other in a circle, as `a → b → a`; undefined if there are none. */
export const circleIn = (graph: Graph): string | undefined => {
  const done = new Set<string>()
  const visit = (room: string, path: ReadonlyArray<string>): string | undefined => {
    const start = path.indexOf(room)
    if (start >= 0) return [...path.slice(start), room].join(" → ")
    if (done.has(room)) return undefined
    for (const next of graph.get(room) ?? []) {
      const circle = visit(next, [...path, room])
      if (circle !== undefined) return circle
    }
    done.add(room)
    return undefined
  }
  for (const room of graph.keys()) {
    const circle = visit(room, [])
    if (circle !== undefined) return circle
  }
  return undefined
}

const reachableFrom = (graph: Graph, room: string): ReadonlySet<string> => {
  const found = new Set<string>()
  const visit = (from: string): void => {
    for (const next of graph.get(from) ?? []) {
      if (found.has(next)) continue
      found.add(next)
      visit(next)
    }
  }
  visit(room)
  return found
}

/** The arrows of the graph without those that follow from others. */
const reduced = (graph: Graph): ReadonlyArray<readonly [string, string]> =>
  [...graph].flatMap(([room, imported]) =>
    [...imported]
      .filter((to) => ![...imported].some((other) => other !== to && reachableFrom(graph, other).has(to)))
      .map((to) => [room, to] as const),
  )

export const picture = (graph: Graph): string => {
  const arrows = reduced(graph)
    .map(([room, to]) => `  ${room} --> ${to}`)
    .sort()
  return `${begin}\n\n\`\`\`mermaid\nflowchart TD\n${arrows.join("\n")}\n\`\`\`\n\n${end}`
}

/** The document with an up-to-date picture. */
export const documentWith = (text: string, graph: Graph): string => {
  const [start, stop] = [text.indexOf(begin), text.indexOf(end)]
  if (start < 0 || stop < start)
    throw new Error(`${document} lacks the two lines around the picture: ${begin} … ${end}`)
  return text.slice(0, start) + picture(graph) + text.slice(stop + end.length)
}

if (import.meta.main) {
  const graph = importGraph()
  const circle = circleIn(graph)
  const path = join(root, document)
  const text = readFileSync(path, "utf8")
  const wanted = documentWith(text, graph)
  if (circle !== undefined) {
    console.error(`Rooms import each other in a circle: ${circle}.`)
    process.exitCode = 1
  } else if (!process.argv.includes("--check")) writeFileSync(path, wanted)
  else if (text !== wanted) {
    console.error(`The picture of rooms in ${document} is out of date: run bun scripts/importGraph.ts.`)
    process.exitCode = 1
  }
}
