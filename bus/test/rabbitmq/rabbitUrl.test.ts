import { describe, expect, test } from "bun:test"
import { parseRabbitUrl, rabbitUrlShown } from "../../src/rabbitmq/rabbitUrl.ts"

const addressOf = (url: string) => {
  const parsed = parseRabbitUrl(url)
  if ("problem" in parsed) throw new Error(parsed.problem)
  return parsed.value
}

const problemOf = (url: string): string => {
  const parsed = parseRabbitUrl(url)
  return "problem" in parsed ? parsed.problem : ""
}

describe("the URL of a RabbitMQ server", () => {
  test("names hosts, a virtual host, and credentials", () => {
    const plain = { hosts: [{ host: "h", port: 5672 }], vhost: "/", isTls: false }
    for (const url of ["amqp://h", "amqp://h/", "amqp://h/%2F"]) expect(addressOf(url)).toEqual(plain)
    expect(addressOf("amqps://h")).toEqual({ hosts: [{ host: "h", port: 5671 }], vhost: "/", isTls: true })
    expect(addressOf("amqp://ann:p%40%2F%3Aw@a:1,[::1]:2,b/team%2Forders")).toEqual({
      hosts: [
        { host: "a", port: 1 },
        { host: "::1", port: 2 },
        { host: "b", port: 5672 },
      ],
      auth: { user: "ann", password: "p@/:w" },
      vhost: "team/orders",
      isTls: false,
    })
  })

  test("is refused with what to do, and without its credentials", () => {
    const cases = [
      ["amqp://", "must name a host"],
      ["amqp://h:0", "must name a host"],
      ["amqp://h:70000", "must name a host"],
      ["amqp://h,,i", "must name a host"],
      [`amqp://${Array.from({ length: 17 }, () => "h").join()}`, "at most 16 hosts"],
      ["amqp://h/a/b", "at most one /"],
      ["amqp://h/a?b", "at most one /"],
      ["amqp://h/%zz", "at most one /"],
      ["amqp://ann@h", "user:password"],
      ["amqp://ann:@h", "user:password"],
      ["amqp://:secret@h", "user:password"],
      ["amqp://ann:se%cret@h", "write a % itself as %25"],
      ["amqp://ann:secret/x@h", "percent-encode @ /"],
      ["amqp://ann:secret@h,bob:secret@i", "percent-encode @ /"],
    ] as const
    for (const [url, expected] of cases) {
      expect(problemOf(url)).toContain(expected)
      expect(problemOf(url)).not.toContain("secret")
    }
  })

  test("is shown without anything that could be a credential", () => {
    expect(rabbitUrlShown("amqp://h:5672/orders")).toBe("amqp://h:5672/orders")
    expect(rabbitUrlShown("amqps://ann:secret@h,i/orders")).toBe("amqps://…@h,i/orders")
    for (const url of ["amqp://ann:secret", "amqp://ann:sec/ret@h", "amqp://secret?x", "amqp://h/secret/x"]) {
      expect(rabbitUrlShown(url)).not.toContain("ret")
    }
  })
})
