import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { parseEgress } from "../src/Egress.ts"
import { earlyRefusal } from "../src/earlyRefusal.ts"

const refusedBy = (rules: string, url: string): string | undefined => {
  const refusal = earlyRefusal(new URL(url), Result.getOrThrow(parseEgress(rules)))
  if (refusal === undefined) return undefined
  return `${refusal.refused} needs ${"entry" in refusal.remedy ? refusal.remedy.entry : "another URL"}`
}

describe("without a lookup", () => {
  test("every spelling of a refused address is refused", () => {
    for (const host of ["127.0.0.1", "0x7f.1", "0177.0.0.1", "2130706433", "127.1", "[::ffff:127.0.0.1]"]) {
      expect([host, refusedBy("public", `http://${host}:80/a`)]).toEqual([host, "127.0.0.1 needs loopback"])
      expect([host, refusedBy("public,loopback", `http://${host}/`)]).toEqual([host, undefined])
    }
    expect(refusedBy("public", "http://[fd00::1]/")).toBe("fd00::1 needs private")
    const never = [
      "169.254.169.254",
      "[fe80::1]",
      "0.0.0.0",
      "[::]",
      "224.0.0.1",
      "255.255.255.255",
      "[ff02::1]",
      "100.100.100.200",
      "168.63.129.16",
      "[fd00:ec2::254]",
      "[64:ff9b::169.254.169.254]",
      "[2002:a9fe:a9fe::1]",
    ]
    for (const host of never) {
      expect(refusedBy("public,private", `http://${host}/latest`)).toEndWith(" needs another URL")
    }
    expect(refusedBy("private", "https://8.8.8.8/")).toBe("8.8.8.8 needs public")
    expect(refusedBy("public", "https://10.1.2.3/")).toBe("10.1.2.3 needs private")
    expect(refusedBy("public", "https://100.64.0.1/")).toBe("100.64.0.1 needs 100.64.0.1")
  })

  test("localhost is refused unless the rules allow a loopback address or the name", () => {
    for (const name of ["localhost", "LOCALHOST", "localhost.", "api.localhost"]) {
      expect(refusedBy("public,private", `http://${name}/`)).toEndWith("needs loopback")
      for (const rules of ["open", "loopback", "127.0.0.1", "::1"]) {
        expect([name, rules, refusedBy(rules, `http://${name}/`)]).toEqual([name, rules, undefined])
      }
    }
    expect(refusedBy("public,host:localhost", "http://localhost/")).toBeUndefined()
  })

  test("a name without a dot is refused if the rules allow only the internet and other names", () => {
    expect(refusedBy("public,*.internal", "http://billing:3000/")).toBe("billing needs host:billing")
    for (const rules of ["open", "public,private", "10.0.0.7", "public,host:billing"]) {
      expect([rules, refusedBy(rules, "http://billing:3000/")]).toEqual([rules, undefined])
    }
  })

  test("a name with a dot is never refused, because only a lookup can tell", () => {
    for (const name of ["hooks.example.com", "api.internal", "localhost.example"]) {
      expect(refusedBy("10.0.0.0/8", `https://${name}/`)).toBeUndefined()
    }
  })
})
