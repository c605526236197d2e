import { describe, expect, test } from "bun:test"
import { dnsAnswer } from "../../src/isolation/dnsAnswer.ts"

const typeA = 1
const typeAaaa = 28

const question = (name: string, type: number): Uint8Array => {
  const labels = name.split(".").flatMap((label) => [label.length, ...Buffer.from(label, "latin1")])
  return Buffer.from([0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, type, 0, 1])
}

const asked = (name: string, type = typeA) => {
  const answer = dnsAnswer(question(name, type))
  if (answer === undefined) throw new Error("no answer")
  const bytes = Buffer.from(answer.bytes)
  return {
    id: bytes.readUInt16BE(0),
    code: bytes.readUInt16BE(2) & 0xf,
    records: bytes.readUInt16BE(6),
    address: [...bytes.subarray(-4)].join("."),
    isSlow: answer.isSlow,
  }
}

describe("the DNS server of the bench", () => {
  test("answers good names with this machine", () => {
    expect(asked("Good-7.test")).toEqual({
      id: 0xabcd,
      code: 0,
      records: 1,
      address: "127.0.0.1",
      isSlow: false,
    })
    expect(asked("good-7.test", typeAaaa)).toMatchObject({ code: 0, records: 0, isSlow: false })
  })

  test("marks slow names, and knows no others", () => {
    expect(asked("slow-1.test")).toMatchObject({ code: 0, records: 0, isSlow: true })
    expect(asked("slow-1.example")).toMatchObject({ code: 3, records: 0, isSlow: false })
  })

  test("ignores what is not a complete question", () => {
    const whole = question("good-1.test", typeA)
    for (let length = 0; length < whole.length; length++)
      expect(dnsAnswer(whole.subarray(0, length))).toBeUndefined()
  })
})
