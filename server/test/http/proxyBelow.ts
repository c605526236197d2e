// A proxy that serves a service below a path, which the service does not know.

export const proxyBelow = (prefix: string, url: string) =>
  Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url: asked, method }) => {
      const { pathname, search } = new URL(asked)
      return pathname.startsWith(`${prefix}/`)
        ? fetch(url + pathname.slice(prefix.length) + search, {
            method,
            redirect: "manual",
            decompress: false,
          })
        : new Response("outside", { status: 418 })
    },
  })
