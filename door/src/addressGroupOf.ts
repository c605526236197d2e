// Limits per client count addresses. A single client of IPv6 usually has a whole /64 network, so its addresses count
// together. An IPv4 address that the system shows as IPv6 counts as IPv4.

export const addressGroupOf = (address: string): string => {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!address.includes(":")) return address
  const [plain = ""] = address.split("%")
  const [head = "", tail] = plain.split("::")
  const first = head === "" ? [] : head.split(":")
  const last = tail === undefined || tail === "" ? [] : tail.split(":")
  // In a text without "::" all eight parts are there, and `last` is empty.
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0")
  const parts = [...first, ...zeros, ...last]
    .slice(0, 4)
    .map((part) => Number.parseInt(part, 16).toString(16))
  return `${parts.join(":")}::/64`
}
