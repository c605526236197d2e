// Who is let in: by key, by session, or without either while no keys are in force.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { type AuthMode, Gate, isRefusal, KeyCaller, type Presented } from "../src/Gate.ts"
import type { KeyDirectory } from "../src/KeyDirectory.ts"
import { makeKeyText } from "../src/KeyText.ts"
import { sessionMs } from "../src/Sessions.ts"
import { admin, appKey, node, withStore } from "./KeyStore.ts"

const start = 1_900_000_000_000
const nobody: Presented = {
  authorization: null,
  cookie: null,
  address: "192.0.2.7",
  addressGroup: "192.0.2.7",
  isSameOrigin: false,
  port: () => 8080,
}

class Scene {
  nowMs = start
  readonly keys: KeyDirectory["Service"]
  readonly gate: Gate

  constructor(keys: KeyDirectory["Service"], mode: AuthMode = "auto") {
    this.keys = keys
    this.gate = new Gate({ keys, mode, nowMs: () => this.nowMs })
  }

  /** The name of the caller, or the reason of the refusal. */
  admitted(presented: Partial<Presented>): string {
    const admitted = this.gate.admit({ ...nobody, ...presented })
    return isRefusal(admitted) ? `${admitted.problem.status} ${admitted.reason}` : admitted.name
  }
}

const cookieIn = (header: string): string => header.slice(0, header.indexOf(";"))

describe("whether a key is needed", () => {
  test(
    "auto: not before the first key, and always after it, even if no key is left",
    withStore(() =>
      Effect.gen(function* () {
        const scene = new Scene(yield* node())
        expect(scene.admitted({})).toBe("anonymous")
        const made = yield* scene.keys.create(admin, start)
        expect(scene.admitted({})).toBe("401 missing")
        yield* scene.keys.revoke(made.id, start)
        expect(scene.admitted({})).toBe("401 missing")
      }),
    ),
  )

  test(
    "required: always; off: never",
    withStore(() =>
      Effect.gen(function* () {
        const keys = yield* node()
        expect(new Scene(keys, "required").admitted({})).toBe("401 missing")
        yield* keys.create(admin, start)
        expect(new Scene(keys, "off").admitted({})).toBe("anonymous")
      }),
    ),
  )
})

describe("a key in the header", () => {
  test(
    "lets its holder in, with the rights of the key and the address of the request",
    withStore(() =>
      Effect.gen(function* () {
        const scene = new Scene(yield* node())
        yield* scene.keys.create(admin, start)
        const { text, id } = yield* scene.keys.create(appKey, start)
        const caller = scene.gate.admit({ ...nobody, authorization: `Bearer ${text}` })
        expect(caller).toBeInstanceOf(KeyCaller)
        expect(caller).toMatchObject({ name: "app", keyId: id, address: "192.0.2.7" })
        if (isRefusal(caller)) throw new Error("refused")
        expect([caller.may("timers.write", "billing"), caller.may("timers.write", "other")]).toEqual([
          true,
          false,
        ])
        expect(scene.admitted({ authorization: `bearer  ${text}` })).toBe("app")
      }),
    ),
  )

  test(
    "of another form, or with a wrong secret, does not, and the refusal does not say why",
    withStore(() =>
      Effect.gen(function* () {
        const scene = new Scene(yield* node())
        const { text, id } = yield* scene.keys.create(admin, start)
        const texts = [makeKeyText().text, makeKeyText(id).text, "x", `${text}x`, text.slice(0, -1)]
        const seen = texts.map((wrong) => scene.gate.admit({ ...nobody, authorization: `Bearer ${wrong}` }))
        expect(new Set(seen.map((refusal) => (isRefusal(refusal) ? refusal.problem.detail : "")))).toEqual(
          new Set(["The key is not valid."]),
        )
        for (const other of [`Basic ${text}`, text, "Bearer", "Bearer a b", ""]) {
          expect(scene.admitted({ authorization: other })).toBe("401 missing")
        }
      }),
    ),
  )

  test(
    "that is wrong again and again is answered later and later, and a right one is not",
    withStore(() =>
      Effect.gen(function* () {
        const scene = new Scene(yield* node())
        const { text } = yield* scene.keys.create(admin, start)
        const delays = Array.from({ length: 40 }, () => {
          const refusal = scene.gate.admit({ ...nobody, authorization: `Bearer ${makeKeyText().text}` })
          return isRefusal(refusal) ? refusal.delayMs : -1
        })
        expect(delays.slice(0, 10)).toEqual(new Array(10).fill(0))
        expect(delays[10]).toBeGreaterThan(0)
        expect(delays).toEqual(delays.toSorted((one, other) => one - other))
        expect(Math.max(...delays)).toBe(2_000)
        expect(scene.admitted({ authorization: `Bearer ${text}` })).toBe("anna")
        const other = scene.gate.admit({ ...nobody, addressGroup: "192.0.2.8", authorization: "Bearer x" })
        expect(isRefusal(other) ? other.delayMs : -1).toBe(0)
      }),
    ),
  )
})

describe("a session", () => {
  const begun = (scene: Scene) =>
    Effect.gen(function* () {
      const made = yield* scene.keys.create(admin, start)
      const verdict = scene.keys.judge(made.text, start)
      if (!("key" in verdict)) throw new Error("not a key")
      const place = { port: 8080, isSecure: true }
      const { cookie } = scene.keys.sessions.begin(verdict.key, verdict.mark, place, start)
      return { made, header: cookie, cookie: cookieIn(cookie) }
    })

  test(
    "is accepted from pages of the service itself, on every node, until its end",
    withStore(() =>
      Effect.gen(function* () {
        const sessionSecret = Buffer.from("shared by all nodes")
        const [scene, other] = [
          new Scene(yield* node({ sessionSecret })),
          new Scene(yield* node({ sessionSecret })),
        ]
        const { cookie, header } = yield* begun(scene)
        expect(header).toMatch(
          /^punctual_session_8080=\S+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=28800; Secure$/,
        )
        yield* TestClock.adjust(1_000)
        for (const { admitted } of [scene, other].map((each) => ({ admitted: each.admitted.bind(each) }))) {
          expect(admitted({ cookie, isSameOrigin: true })).toBe("anna")
          expect(admitted({ cookie: `a=b; ${cookie}; c`, isSameOrigin: true })).toBe("anna")
          expect(admitted({ cookie })).toBe("403 crossSite")
        }
        scene.nowMs = start + sessionMs
        expect(scene.admitted({ cookie, isSameOrigin: true })).toBe("401 expired")
      }),
    ),
  )

  test(
    "ends with its key",
    withStore(() =>
      Effect.gen(function* () {
        const scene = new Scene(yield* node())
        const { cookie, made } = yield* begun(scene)
        yield* scene.keys.revoke(made.id, start)
        expect(scene.admitted({ cookie, isSameOrigin: true })).toBe("401 revoked")
      }),
    ),
  )

  test(
    "ends with the text of the key that began it, and is unknown to a service with another secret",
    withStore(() =>
      Effect.gen(function* () {
        const [scene, other] = [new Scene(yield* node()), new Scene(yield* node())]
        const { cookie, made } = yield* begun(scene)
        yield* TestClock.adjust(1_000)
        expect(other.admitted({ cookie, isSameOrigin: true })).toBe("401 wrong")
        yield* scene.keys.rotate(made.id, 1_000, start)
        expect(scene.admitted({ cookie, isSameOrigin: true })).toBe("anna")
        scene.nowMs = start + 1_000
        expect(scene.admitted({ cookie, isSameOrigin: true })).toBe("401 wrong")
      }),
    ),
  )

  test(
    "of more than 8 hours is wrong, however it was made",
    withStore(() =>
      Effect.gen(function* () {
        const scene = new Scene(yield* node())
        const { cookie } = yield* begun(scene)
        scene.nowMs = start - 1
        expect(scene.admitted({ cookie, isSameOrigin: true })).toBe("401 wrong")
      }),
    ),
  )

  test(
    "with any changed character is wrong",
    withStore(() =>
      Effect.gen(function* () {
        const scene = new Scene(yield* node())
        const { cookie } = yield* begun(scene)
        const first = cookie.indexOf("=") + 1
        for (let at = first; at < cookie.length; at++) {
          const other = cookie.charAt(at) === "1" ? "2" : "1"
          const changed = cookie.slice(0, at) + other + cookie.slice(at + 1)
          expect([at, scene.admitted({ cookie: changed, isSameOrigin: true })]).toEqual([at, "401 wrong"])
        }
      }),
    ),
  )

  test(
    "of another port is not seen",
    withStore(() =>
      Effect.gen(function* () {
        const scene = new Scene(yield* node())
        const { cookie } = yield* begun(scene)
        const other = cookie.replace("8080", "9090")
        expect(scene.admitted({ cookie: other, isSameOrigin: true })).toBe("401 missing")
        expect(scene.admitted({ cookie, isSameOrigin: true, port: () => 9090 })).toBe("401 missing")
        expect(scene.admitted({ cookie: other, isSameOrigin: true, port: () => 9090 })).toBe("anna")
      }),
    ),
  )
})
