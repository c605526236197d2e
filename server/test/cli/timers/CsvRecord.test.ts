// CSV as RFC 4180 has it: what a program writes by that rule is read back as it was, whatever is in it.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { CsvRecord } from "../../../src/cli/timers/CsvRecord.ts"

const read = (text: string): CsvRecord => {
  const record = new CsvRecord()
  for (const line of text.split("\n")) record.feed(line)
  return record
}

const quoted = (field: string) => `"${field.replaceAll('"', '""')}"`

describe("a record", () => {
  test("has what stands between its commas", () => {
    const records: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
      ["a,b,c", ["a", "b", "c"]],
      ["a,b,c\r", ["a", "b", "c"]],
      ["a,,", ["a", "", ""]],
      [",", ["", ""]],
      ["a", ["a"]],
      [" a , b ", [" a ", " b "]],
      ['"a,b",c', ["a,b", "c"]],
      ['"say ""hi""",""', ['say "hi"', ""]],
      ['"a\nb\r\nc",d\r', ["a\nb\r\nc", "d"]],
      ['x,""', ["x", ""]],
    ]
    for (const [text, fields] of records) {
      const { fields: found, problem, isOpen } = read(text)
      expect([text, found, problem, isOpen]).toEqual([text, [...fields], undefined, false])
    }
  })

  test("that was written by the rule is read as it was", () => {
    const field = fc.oneof(fc.string(), fc.stringMatching(/^[",\r\n a]*$/))
    fc.assert(
      fc.property(fc.array(field, { minLength: 1 }), fc.boolean(), (fields, hasReturn) => {
        const {
          fields: found,
          problem,
          isOpen,
        } = read(`${fields.map(quoted).join()}${hasReturn ? "\r" : ""}`)
        expect([found, problem, isOpen]).toEqual([fields, undefined, false])
      }),
    )
  })

  test("with a quote where none may be is refused, and one that has not ended goes on", () => {
    expect(read('a,5" nail').problem).toContain("quote in a field")
    expect(read('"a"b,c').problem).toContain("after a closing quote")
    expect(read('a,"b').isOpen).toBe(true)
  })
})
