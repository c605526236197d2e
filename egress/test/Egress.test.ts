import { describe, expect, test } from "bun:test"
import { canonicalAddress } from "@punctual/door/AddressRanges"
import { Result } from "effect"
import fc from "fast-check"
import { type EgressRules, parseEgress } from "../src/Egress.ts"

const rulesOf = (text: string): EgressRules => Result.getOrThrow(parseEgress(text))

const allows = (text: string, address: string, host = "host.example"): boolean => {
  const canonical = canonicalAddress(address)
  return canonical !== undefined && rulesOf(text).allows(host, canonical)
}

describe("public", () => {
  test("allows addresses of the public network", () => {
    for (const address of [
      "8.8.8.8",
      "1.1.1.1",
      "100.63.255.255",
      "100.128.0.0",
      "172.15.0.1",
      "172.32.0.1",
    ]) {
      expect([address, allows("public", address)]).toEqual([address, true])
    }
    for (const address of ["2606:4700:4700::1111", "2a00:1450:4001:81b::200e", "::ffff:8.8.8.8"]) {
      expect([address, allows("public", address)]).toEqual([address, true])
    }
  })

  test("refuses the first and last address of each reserved range", () => {
    const ranges = [
      ["0.0.0.0", "0.255.255.255"],
      ["10.0.0.0", "10.255.255.255"],
      ["100.64.0.0", "100.127.255.255"],
      ["127.0.0.0", "127.255.255.255"],
      ["169.254.0.0", "169.254.169.254", "169.254.255.255"],
      ["172.16.0.0", "172.31.255.255"],
      ["192.0.0.0", "192.0.0.255"],
      ["192.0.2.0", "192.0.2.255"],
      ["192.168.0.0", "192.168.255.255"],
      ["198.18.0.0", "198.19.255.255"],
      ["198.51.100.0", "198.51.100.255"],
      ["203.0.113.0", "203.0.113.255"],
      ["224.0.0.0", "239.255.255.255"],
      ["240.0.0.0", "255.255.255.255"],
      ["::", "::1", "::7f00:1"],
      ["64:ff9b::", "64:ff9b::ffff:ffff"],
      ["64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"],
      ["100::", "100::ffff"],
      ["2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"],
      ["2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"],
      ["2002::", "2002:7f00:1::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
      ["3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"],
      ["fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
      ["fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
      ["ff00::", "ff02::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    ].flat()
    for (const address of ranges) expect([address, allows("public", address)]).toEqual([address, false])
  })

  test("treats an IPv4-mapped address as its IPv4 address", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(allows("public", `::ffff:${address}`)).toBe(allows("public", address))
        expect(canonicalAddress(`::FFFF:${address}`)).toBe(address)
      }),
    )
  })
})

describe("a list", () => {
  test("allows what any entry allows, and nothing else", () => {
    const list = "public, 10.0.0.0/8 ,fd00::/8,192.168.1.7,*.internal,host:Billing"
    expect(allows(list, "8.8.8.8")).toBe(true)
    expect(allows(list, "10.255.0.1")).toBe(true)
    expect(allows(list, "::ffff:10.255.0.1")).toBe(true)
    expect(allows(list, "fd12::1")).toBe(true)
    expect(allows(list, "192.168.1.7")).toBe(true)
    expect(allows(list, "192.168.1.8")).toBe(false)
    expect(allows(list, "127.0.0.1")).toBe(false)
    expect(allows(list, "127.0.0.1", "api.internal")).toBe(true)
    expect(allows(list, "127.0.0.1", "a.b.internal.")).toBe(true)
    expect(allows(list, "127.0.0.1", "internal")).toBe(false)
    expect(allows(list, "127.0.0.1", "notinternal")).toBe(false)
    expect(allows(list, "127.0.0.1", "billing")).toBe(true)
    expect(allows(list, "127.0.0.1", "billing.example")).toBe(false)
  })

  test("without public refuses the public network", () => {
    expect(allows("10.0.0.0/8", "8.8.8.8")).toBe(false)
    expect(allows("10.0.0.0/8", "2606:4700::1")).toBe(false)
  })

  test("accepts the widest ranges, each for its own family", () => {
    expect(allows("0.0.0.0/0", "127.0.0.1")).toBe(true)
    expect(allows("0.0.0.0/0", "::1")).toBe(false)
    expect(allows("::/0", "::1")).toBe(true)
    expect(allows("::/0", "127.0.0.1")).toBe(false)
  })

  test("allows every address of a range and no other", () => {
    const toNumber = (address: string) =>
      address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0)
    fc.assert(
      fc.property(fc.ipV4(), fc.integer({ min: 0, max: 32 }), fc.ipV4(), (base, prefix, address) => {
        const size = 2 ** (32 - prefix)
        const isInside = Math.floor(toNumber(base) / size) === Math.floor(toNumber(address) / size)
        expect(allows(`${base}/${prefix}`, address)).toBe(isInside)
      }),
    )
  })

  test("never allows text that is not an address", () => {
    for (const text of ["", "localhost", "127.1", "0x7f.0.0.1", "fe80::1%eth0", "1.2.3.4.5", "[::1]"]) {
      expect(canonicalAddress(text)).toBeUndefined()
    }
  })
})

describe("private and loopback", () => {
  test("private allows RFC 1918 and unique local addresses, and never link-local ones", () => {
    for (const address of ["10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.1"]) {
      expect([address, allows("private", address)]).toEqual([address, true])
    }
    for (const address of ["fc00::", "fdff::1", "::ffff:10.0.0.1"]) {
      expect([address, allows("private", address)]).toEqual([address, true])
    }
    const others = ["9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "192.169.0.0", "8.8.8.8"]
    const local = ["169.254.169.254", "fe80::1", "127.0.0.1", "::1", "100.64.0.1", "0.0.0.0", "fe00::1"]
    for (const address of [...others, ...local]) {
      expect([address, allows("private", address)]).toEqual([address, false])
    }
  })

  test("loopback allows 127.0.0.0/8 and ::1, and nothing else", () => {
    for (const address of ["127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1"]) {
      expect([address, allows("loopback", address)]).toEqual([address, true])
    }
    for (const address of ["126.255.255.255", "128.0.0.0", "::2", "::", "0.0.0.0", "10.0.0.1", "8.8.8.8"]) {
      expect([address, allows("loopback", address)]).toEqual([address, false])
    }
  })
})

describe("the metadata services of clouds", () => {
  const services = ["169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16"]
  const ofIPv6 = ["fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42"]

  /** Other forms that lead to the same IPv4 address, through the system or a translator. */
  const formsOf = (address: string): ReadonlyArray<string> => {
    const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number)
    const groups = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
    return [
      address,
      `::ffff:${address}`,
      `::${address}`,
      `::ffff:0:${address}`,
      `64:ff9b::${address}`,
      `64:ff9b:1::${address}`,
      `2002:${groups}::1`,
    ]
  }

  test("are allowed by no keyword and by no name, in no spelling", () => {
    const rules = "public,private,loopback,*.internal,host:metadata"
    for (const address of [...services.flatMap(formsOf), ...ofIPv6]) {
      for (const host of ["host.example", "metadata.google.internal", "metadata"]) {
        expect([address, host, allows(rules, address, host)]).toEqual([address, host, false])
      }
    }
  })

  test("stay refused behind a translator with a prefix of its own", () => {
    for (const address of ["fd12:3456::169.254.169.254", "2a01:4f8:64::169.254.169.254"]) {
      expect([address, allows("public,private", address)]).toEqual([address, false])
    }
    expect(allows("private", "fd12:3456::a9fe:a9fd")).toBe(true)
  })

  test("are allowed by an address or a range", () => {
    expect(allows("169.254.169.254", "169.254.169.254")).toBe(true)
    expect(allows("fd00:ec2::/32", "fd00:ec2::254")).toBe(true)
    expect(allows("private,64:ff9b::/96", "64:ff9b::a9fe:a9fe")).toBe(true)
    expect(allows("open", "169.254.169.254")).toBe(true)
  })
})

describe("the entry that decides", () => {
  test("is the one that allows the address", () => {
    const rules = rulesOf("public,private,192.0.2.0/24,*.internal,host:billing,hooks.example.com")
    const entries = [
      ["a.example", "8.8.8.8", "public"],
      ["a.example", "fd00::1", "private"],
      ["a.example", "192.0.2.9", "192.0.2.0/24"],
      ["a.internal", "127.0.0.1", "*.internal"],
      ["billing", "127.0.0.1", "host:billing"],
      ["hooks.example.com.", "127.0.0.1", "hooks.example.com"],
      ["a.example", "127.0.0.1", undefined],
    ] as const
    for (const [host, address, entry] of entries) {
      expect([host, address, rules.entryFor(host, address)]).toEqual([host, address, entry])
      expect(rules.allows(host, address)).toBe(entry !== undefined)
    }
    expect(rulesOf("open").entryFor("a", "127.0.0.1")).toBe("open")
  })
})

describe("open", () => {
  test("allows everything", () => {
    expect(rulesOf(" Open ").isOpen).toBe(true)
    expect(allows("open", "127.0.0.1")).toBe(true)
    expect(rulesOf("public").isOpen).toBe(false)
  })
})

describe("a bad entry", () => {
  test("is named", () => {
    const bad = [
      "",
      "public,",
      "public,open",
      "*",
      "10.0.0.0/33",
      "10.0.0.0/",
      "10.0.0.0/8/8",
      "10.0.0",
      "300.1.1.1",
      "fd00::/129",
      "fd00::x/8",
      "::ffff:10.0.0.0/104",
      "http://example.com",
      "example.com:8080",
      "example.com/path",
      "a.*.internal",
      "*internal",
      "*.",
      "a b",
      "-a.example",
      "example.7",
      "pubic",
      "localhost",
      "billing",
      "host:",
      "host:*.internal",
      "host:1.2.3.4",
      "host:a:80",
    ]
    for (const text of bad) {
      const parsed = parseEgress(text)
      expect([text, Result.isFailure(parsed)]).toEqual([text, true])
      if (Result.isFailure(parsed)) {
        const { entry, message } = parsed.failure
        expect(message).toStartWith(entry === "" ? "The list " : `"${entry}" `)
      }
    }
  })

  test("gets a suggestion if it looks like a keyword or a host", () => {
    const wrongOf = (text: string): string => {
      const parsed = parseEgress(text)
      return Result.isFailure(parsed) ? parsed.failure.message : "accepted"
    }
    const notOne =
      "is not a keyword (open, public, private, loopback), an address, a range, or a host name with a dot."
    const texts: Readonly<Record<string, string>> = {
      pubic: `"pubic" ${notOne} Did you mean public? If it is a host, write host:pubic.`,
      "public,privat": `"privat" ${notOne} Did you mean private? If it is a host, write host:privat.`,
      localhost: `"localhost" ${notOne} Did you mean loopback? If it is a host, write host:localhost.`,
      billing: `"billing" ${notOne} If it is a host, write host:billing.`,
      "": "The list is empty. Write open, or a list such as public,private,*.internal.",
      "public,": "The list has an empty entry. Remove the extra comma.",
      "public,open": '"open" allows everything. Write open alone, without other entries.',
      "public private": '"public private" is not one entry. Separate entries with a comma: public,private',
      "public;private": '"public;private" is not one entry. Separate entries with a comma: public,private',
      "*": '"*" is not an entry. Write open instead of *.',
      all: '"all" is not a keyword. Did you mean open?',
      any: '"any" is not a keyword. Did you mean open?',
      "[::1]": '"[::1]" is not an address. Write ::1, without brackets.',
      "[fd00::1]:80": '"[fd00::1]:80" is not an address. Write fd00::1, without brackets and without a port.',
      "https://example.com/a": '"https://example.com/a" is not a host. Write only the host: example.com',
      "http://u:p@db:80": '"http://u:p@db:80" is not a host. Write only the host: host:db',
      "http://[::1]:80/": '"http://[::1]:80/" is not a host. Write only the host: ::1',
      "example.com:8080": '"example.com:8080" is not a host. Write only the host: example.com',
      "example.com/path": '"example.com/path" is not a host. Write only the host: example.com',
      "10.0.0.1:80": '"10.0.0.1:80" is not a host. Write only the host: 10.0.0.1',
      "host:db:5432": '"host:db:5432" is not a host name. Write host:db, without a port.',
      "host:10.0.0.1": '"host:10.0.0.1" is not a host name. Write 10.0.0.1.',
      "host:[::1]": '"host:[::1]" is not a host name. Write ::1.',
      "host:*.internal": '"host:*.internal" is not a host name. Write *.internal.',
    }
    for (const [text, message] of Object.entries(texts))
      expect([text, wrongOf(text)]).toEqual([text, message])
    for (const text of ["none", "off"]) expect(wrongOf(text)).toContain("cannot refuse every address")
  })
})
