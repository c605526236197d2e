// A proxy in the environment must not come between the egress rules and the connection that they judge.
import { expect, test } from "bun:test"
import { ProcessRun } from "./ProcessRun.ts"

test("webhooks go directly to their target, even if the environment names a proxy", async () => {
  const nobody = "http://127.0.0.1:9"
  const settings = { HTTP_PROXY: nobody, http_proxy: nobody, NO_PROXY: "", no_proxy: "" }
  await using run = await ProcessRun.start({ settings })
  await run.createAll([
    {
      key: { namespace: "shop", timerId: "direct" },
      executeAtMs: Date.now(),
      callbackUrl: run.receiver.url,
    },
  ])
  await run.receiver.until("the delivery", ({ length }) => length > 0)
  expect(run.receiver.deliveries.map(({ attempt }) => attempt)).toEqual([1])
})
