/** Ids of timers that have none: UUIDs of version 7, which sort by their time. */

/** Node 18 has WebCrypto only as a module. Bundlers for browsers must not see its name, or they would add a copy. */
const nodeCrypto = ["node", "crypto"].join(":")

/** WebCrypto of the runtime. */
export const webCrypto = async (): Promise<Crypto> =>
  globalThis.crypto ??
  ((await import(/* webpackIgnore: true */ /* @vite-ignore */ nodeCrypto)) as { webcrypto: Crypto }).webcrypto

/** A UUID v7: 48 bits of time and 74 random bits. */
export const newTimerId = async (nowMs: number): Promise<string> => {
  const bytes = (await webCrypto()).getRandomValues(new Uint8Array(16))
  const view = new DataView(bytes.buffer)
  view.setUint16(0, Math.floor(nowMs / 2 ** 32))
  view.setUint32(2, nowMs % 2 ** 32)
  view.setUint8(6, 0x70 | (view.getUint8(6) & 0x0f))
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f))
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
}
