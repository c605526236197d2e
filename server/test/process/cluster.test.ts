// What a client can rely on in a cluster without faults. Every node gives the same answer, and only callers with the
// cluster's secret can act as a node.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { CallSignature, hashInSlices, signatureHeader } from "../../src/peers/http/CallSignature.ts"
import { callHeader, toHeader, versionHeader } from "../../src/peers/http/HttpPeers.ts"
import { ClusterHarness, type ClusterNode, clusterSecret } from "../../testkit/ClusterHarness.ts"
import { eventually } from "../../testkit/eventually.ts"
import type { Key } from "../../testkit/History.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

/** Whether an answer shows a timer without an attempt that waits for the breaker of its host. */
const waitsForBreaker = (body: unknown): boolean =>
  /"waiting":{"reason":"breaker","since":"[^"]+","detail":"127\.0\.0\.1:9 failed [^"]+"},"attempts":0,/.test(
    JSON.stringify(body),
  )

const ask = async (
  { url }: ClusterNode,
  call: string,
  body: object,
): Promise<{ readonly status: number; readonly body: unknown }> => {
  const response = await fetch(`${url}/api/v1/timers/${call}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: await response.json() }
}

describePostgres("installed", "a cluster of three", () => {
  let cluster: ClusterHarness
  beforeAll(async () => {
    cluster = await ClusterHarness.start()
  }, 60_000)
  afterAll(() => cluster[Symbol.asyncDispose]())

  /** A key whose shard the node owns. */
  const keyOwnedBy = async ({ name }: ClusterNode, prefix: string): Promise<Key> => {
    const leases = await cluster.leases()
    for (let number = 0; ; number++) {
      const key = { namespace: "shop", timerId: `${prefix}-${number}` }
      if (leases[cluster.shardOf(key)]?.node === name) return key
    }
  }

  test("creates on one node, owns on another, cancels through a third, and shows the same on all", async () => {
    const [a, b, c] = [cluster.node(1), cluster.node(2), cluster.node(3)]
    const key = await keyOwnedBy(b, "travelled")
    const onAll = async () => {
      const answers = await Promise.all(cluster.nodes.map((node) => ask(node, "get", key)))
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
      return answers[0]
    }
    const timer = { ...key, executeAt: inAnHour(), callbackUrl: cluster.receiver.url, payload: { n: 1 } }
    const created = await ask(a, "create", timer)
    expect(created).toMatchObject({ status: 200, body: { result: "created", timer: { state: "pending" } } })
    expect(await onAll()).toMatchObject({
      status: 200,
      body: { timer: { state: "pending", payload: { n: 1 } } },
    })
    expect(await ask(c, "create", timer)).toMatchObject({ status: 200, body: { result: "unchanged" } })

    const executeAt = inAnHour()
    const moved = await ask(c, "update", { ...key, executeAt, payload: { n: 2 } })
    expect(moved).toMatchObject({ status: 200, body: { timer: { executeAt } } })
    expect(await onAll()).toMatchObject({ body: { timer: { executeAt, payload: { n: 2 } } } })

    expect(await ask(c, "delete", key)).toEqual({ status: 200, body: { result: "cancelled" } })
    expect(await onAll()).toMatchObject({ status: 200, body: { timer: { state: "cancelled" } } })
    for (const node of cluster.nodes) {
      expect(await ask(node, "delete", key)).toEqual({ status: 200, body: { result: "alreadyCancelled" } })
      expect(await ask(node, "update", { ...key, payload: 3 })).toMatchObject({ status: 404 })
    }
  })

  test("fires a timer once, on whichever node it was created", async () => {
    const keys = await Promise.all(
      cluster.nodes.flatMap((asked) =>
        cluster.nodes.map(async (owner) => {
          const key = await keyOwnedBy(owner, `${asked.name}-to-${owner.name}`)
          const executeAt = new Date(Date.now() + 500).toISOString()
          const timer = { ...key, executeAt, callbackUrl: `${cluster.receiver.url}/once` }
          expect(await ask(asked, "create", timer)).toMatchObject({
            status: 200,
            body: { result: "created" },
          })
          return key
        }),
      ),
    )
    const fired = () => cluster.receiver.deliveries.filter(({ path }) => path === "/once")
    await cluster.receiver.until("all have fired", () => fired().length >= keys.length)
    expect(
      fired()
        .map(({ key }) => key.timerId)
        .sort(),
    ).toEqual(keys.map(({ timerId }) => timerId).sort())
    // They fired at their time, and not because the sweep found them late.
    expect(await cluster.total("timer_sweep_rescued_total")).toBe(0)
  })

  test("says on every node why a timer waits, though only its owner knows", async () => {
    const [a, b, c] = [cluster.node(1), cluster.node(2), cluster.node(3)]
    // Nothing listens there: the breaker of the node that fires opens.
    const callbackUrl = "http://127.0.0.1:9/nobody"
    const retryPolicy = { initialInterval: "1h" }
    let count = 0
    // From time to time the breaker lets one timer through, which then waits for its retry: so try one after another.
    await eventually("both other nodes say that a timer waits for the breaker", async () => {
      const key = await keyOwnedBy(b, `refused-${count++}`)
      await ask(a, "create", { ...key, delay: "0s", callbackUrl, retryPolicy })
      const answers = await Promise.all(
        [a, c].flatMap((node) => [
          ask(node, "get", key),
          ask(node, "list", { namespace: key.namespace, idPrefix: key.timerId }),
        ]),
      )
      return answers.every(({ body }) => waitsForBreaker(body)) ? true : undefined
    })
    await ask(c, "deleteMany", { namespace: "shop", filter: { idPrefix: "refused-" } })
  })

  test("refuses callers of the node routes that do not know the cluster's secret", async () => {
    let calls = 0
    const speak = async (
      how: { readonly signedWith: string } | { readonly bare?: string },
      call: string,
      body: string,
      { name }: ClusterNode = cluster.node(1),
    ) => {
      const head = {
        version: "1",
        method: "POST",
        path: `/internal/v1/${call}`,
        to: name,
        call: `a-test ${++calls} ${calls}`,
      }
      const claims = { signedAtMs: Date.now(), bodyHash: await hashInSlices(Buffer.from(body)) }
      return fetch(`${cluster.node(1).url}${head.path}`, {
        method: head.method,
        headers: {
          "content-type": "application/json",
          [versionHeader]: head.version,
          [callHeader]: head.call,
          [toHeader]: head.to,
          ...("signedWith" in how
            ? { [signatureHeader]: new CallSignature(how.signedWith).headerOf(head, claims) }
            : how.bare === undefined
              ? {}
              : { authorization: `Bearer ${how.bare}` }),
        },
        body,
      })
    }
    const key = await keyOwnedBy(cluster.node(1), "smuggled")
    const cancel = {
      kind: "cancel",
      ...key,
      cancelId: "01890000-0000-7000-8000-000000000000",
      at: Date.now(),
    }
    const smuggled = JSON.stringify({ specs: [], items: [cancel] })
    await ask(cluster.node(1), "create", { ...key, executeAt: inAnHour(), callbackUrl: cluster.receiver.url })
    const strangers = [
      {},
      ...["", "wrong", `${clusterSecret}x`, clusterSecret.slice(1)].flatMap((wrong) => [
        { bare: wrong },
        { signedWith: wrong },
      ]),
      // All nodes sign, so the secret itself is not accepted either.
      { bare: clusterSecret },
    ]
    for (const stranger of strangers) {
      for (const call of ["write", "firing", "nudge", "lags", "census"]) {
        const response = await speak(stranger, call, call === "write" ? smuggled : "{}")
        expect(response.status).toBe(401)
        expect(await response.text()).not.toContain(clusterSecret)
      }
    }
    const known = { signedWith: clusterSecret }
    // A caller that knows the secret but names another node is refused, too.
    expect((await speak(known, "write", smuggled, cluster.node(2))).status).toBe(421)
    expect(await ask(cluster.node(2), "get", key)).toMatchObject({ body: { timer: { state: "pending" } } })
    // The same call by a caller that knows the secret is carried out.
    expect((await speak(known, "write", smuggled)).status).toBe(200)
    expect(await ask(cluster.node(2), "get", key)).toMatchObject({ body: { timer: { state: "cancelled" } } })
  })
})
