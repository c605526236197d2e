// `punctual doctor` resolves the hosts of pending timers with the name servers of the service.
import { expect, test } from "bun:test"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { SlowNameServer } from "../../testkit/SlowNameServer.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

test("doctor names a host whose address only the configured name servers know", async () => {
  await using names = await SlowNameServer.listening()
  using folder = new TemporaryFolder()
  const settings = { TIMER_DNS_SERVERS: names.address, TIMER_EGRESS: "public" }
  await using service = await ServiceProcess.ready({ folder: folder.path, settings })
  const created = await ServiceProcess.command(
    ["timers", "create", "shop", "t", "--delay", "1h", "--to", "http://fast1.test/hook"],
    { TIMER_URL: service.url },
  )
  expect([created.stderr, created.code]).toEqual(["", 0])
  const store = `sqlite:${ServiceProcess.databaseIn(folder.path)}`
  const { code, stdout } = await ServiceProcess.command(["doctor", "--store", store, "--json"], settings)
  expect(code).toBe(0)
  const { remarks } = JSON.parse(stdout) as { readonly remarks: ReadonlyArray<string> }
  expect(remarks).toEqual([
    expect.stringContaining(
      "1 pending timer has a target that TIMER_EGRESS does not allow (this command uses TIMER_EGRESS=public): http://fast1.test (1).",
    ),
  ])
})
