// Every public name of this library has a comment, because editors show it to users.
import { expect, test } from "bun:test"
import { filesBelow, textOf } from "../../../scripts/repository.ts"

const declaration = /^(?:export (?:const|class|interface|type) (\w+)| {2}(?:static |async |get )*(\w+)[(<])/

/** `file: name` of each exported name, and of each public method of an exported class, without a comment above it. */
const withoutComment = (path: string): ReadonlyArray<string> => {
  const lines = textOf(path).split("\n")
  let isClass = false
  return lines.flatMap((line, at) => {
    if (/^export class/.test(line)) isClass = true
    else if (/^\S/.test(line) && line !== "}") isClass = false
    const [, name, method] = declaration.exec(line) ?? []
    const found = name ?? (isClass && method !== "constructor" ? method : undefined)
    return found === undefined || /\*\/$/.test(lines[at - 1] ?? "") ? [] : [`${path}: ${found}`]
  })
}

test("every exported name and public method has a comment", () => {
  expect(filesBelow("sdks/typescript/src", ".ts").flatMap(withoutComment)).toEqual([])
})
