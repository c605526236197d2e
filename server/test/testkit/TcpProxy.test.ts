import { expect, test } from "bun:test"
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { eventually } from "../../testkit/eventually.ts"
import { TcpProxy } from "../../testkit/TcpProxy.ts"

/** A server that echoes what it gets, behind a proxy, and what a client has received from it. */
const echoing = async () => {
  const received: Array<string> = []
  const server = createServer((socket) => {
    socket.on("error", () => {})
    socket.on("data", (chunk: Buffer) => {
      received.push(chunk.toString())
      socket.write(chunk)
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the server does not listen")
  const proxy = await TcpProxy.before({ host: "127.0.0.1", port: address.port })
  return {
    proxy,
    received,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const dial = (proxy: TcpProxy) => {
  const heard: Array<string> = []
  let isClosed = false
  const socket: Socket = connect(proxy.port, "127.0.0.1")
  socket.on("data", (chunk: Buffer) => heard.push(chunk.toString()))
  socket.on("error", () => {})
  socket.on("close", () => {
    isClosed = true
  })
  return { socket, hears: () => heard.join(""), isClosed: () => isClosed }
}

const hears = (client: ReturnType<typeof dial>, text: string) =>
  eventually(`the client hears ${text}`, () => (client.hears() === text ? true : undefined))

test("bytes pass in both directions", async () => {
  await using rig = await echoing()
  const client = dial(rig.proxy)
  client.socket.write("hello")
  await hears(client, "hello")
})

test("a cut ends connections and refuses new ones until heal", async () => {
  await using rig = await echoing()
  const client = dial(rig.proxy)
  client.socket.write("hello")
  await hears(client, "hello")
  rig.proxy.cut()
  await eventually("the connection ends", () => (client.isClosed() ? true : undefined))
  const refused = dial(rig.proxy)
  await eventually("the new one ends, too", () => (refused.isClosed() ? true : undefined))
  rig.proxy.heal()
  const again = dial(rig.proxy)
  again.socket.write("again")
  await hears(again, "again")
})

test("bytes vanish on the way to the server, and the connection stays", async () => {
  await using rig = await echoing()
  const client = dial(rig.proxy)
  client.socket.write("1")
  await hears(client, "1")
  rig.proxy.blackholeToServer()
  client.socket.write("2")
  await eventually("the bytes vanish", () => (rig.proxy.droppedBytes === 1 ? true : undefined))
  rig.proxy.heal()
  client.socket.write("3")
  await hears(client, "13")
  expect(rig.received.join("")).toBe("13")
  expect(client.isClosed()).toBe(false)
})

test("bytes vanish on the way back, after the server had them", async () => {
  await using rig = await echoing()
  const client = dial(rig.proxy)
  client.socket.write("1")
  await hears(client, "1")
  rig.proxy.blackholeFromServer()
  client.socket.write("2")
  await eventually("the answer vanishes", () => (rig.proxy.droppedBytes === 1 ? true : undefined))
  expect(rig.received.join("")).toBe("12")
  expect(client.hears()).toBe("1")
})

test("slowed bytes come late and in order", async () => {
  await using rig = await echoing()
  const client = dial(rig.proxy)
  client.socket.write("1")
  await hears(client, "1")
  rig.proxy.slow(100)
  const before = performance.now()
  client.socket.write("2")
  await hears(client, "12")
  expect(performance.now() - before).toBeGreaterThanOrEqual(200)
  client.socket.write("3")
  await hears(client, "123")
})

test("held bytes reach the server after their client was cut off, and others pass in the meantime", async () => {
  await using rig = await echoing()
  const client = dial(rig.proxy)
  client.socket.write("1")
  await hears(client, "1")
  rig.proxy.hold()
  client.socket.write("late")
  await eventually("the bytes are held", () => (rig.proxy.isHolding("late") ? true : undefined))
  rig.proxy.cutHeld()
  await eventually("the connection ends", () => (client.isClosed() ? true : undefined))
  const again = dial(rig.proxy)
  again.socket.write("2")
  await hears(again, "2")
  expect(rig.received.join("")).toBe("12")
  expect(await rig.proxy.release()).toBe("late")
  expect(rig.received.join("")).toBe("12late")
  expect(client.hears()).toBe("1")
})
