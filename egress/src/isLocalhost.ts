// Names that always mean this machine, so they need no name server (RFC 6761).

/** `host` may end with a dot. */
export const isLocalhost = (host: string): boolean => /(?:^|\.)localhost\.?$/.test(host)

export const loopbackAddresses: ReadonlyArray<string> = ["127.0.0.1", "::1"]
