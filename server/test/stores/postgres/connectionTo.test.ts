import { expect, test } from "bun:test"
import { connectionsTo } from "../../../src/stores/postgres/connectionTo.ts"
import { mostWaiting, SessionPool, TimedOut } from "../../../src/stores/SessionPool.ts"
import { describePostgres } from "../../../testkit/PostgresBinaries.ts"
import { serverForTests } from "../../../testkit/postgres.ts"

describePostgres("installed", "connections", () => {
  const server = serverForTests("installed")
  const pool = (size: number, timeoutMs?: number) =>
    new SessionPool(connectionsTo({ url: server().url, database: "postgres", settings: {} }), size, timeoutMs)

  const pidOf = async (sql: Bun.SQL): Promise<number> => {
    const rows: ReadonlyArray<{ pid: number }> = await sql.unsafe("SELECT pg_backend_pid() AS pid")
    return rows[0]?.pid ?? 0
  }

  test("are as many as configured, and calls take turns on them in order", async () => {
    const connections = pool(2)
    try {
      const order: Array<number> = []
      const pids = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          connections.run(async (sql) => {
            order.push(index)
            return pidOf(sql)
          }),
        ),
      )
      expect(new Set(pids).size).toBe(2)
      expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index))
    } finally {
      await connections.close()
    }
  })

  test("are given up when a call takes too long, and the next call gets a new one", async () => {
    const connections = pool(1, 200)
    try {
      const before = await connections.run(pidOf)
      const late = connections.run((sql) => sql.unsafe("SELECT pg_sleep(60)"))
      await expect(late).rejects.toBeInstanceOf(TimedOut)
      expect(await connections.run(pidOf)).not.toBe(before)
    } finally {
      await connections.close()
    }
  })

  test("stay after a failed statement", async () => {
    const connections = pool(1)
    try {
      const before = await connections.run(pidOf)
      await expect(connections.run((sql) => sql.unsafe("SELECT 1 / 0"))).rejects.toThrow("division by zero")
      expect(await connections.run(pidOf)).toBe(before)
    } finally {
      await connections.close()
    }
  })

  test("have a queue with a limit", async () => {
    const connections = pool(1)
    try {
      let finish = () => {}
      const busy = connections.run(
        () =>
          new Promise<void>((resolve) => {
            finish = resolve
          }),
      )
      const waiting = Array.from({ length: mostWaiting }, () => connections.run(async () => {}))
      await expect(connections.run(async () => {})).rejects.toBeInstanceOf(TimedOut)
      finish()
      await Promise.all([busy, ...waiting])
    } finally {
      await connections.close()
    }
  })
})
