/** Where the service is. The build says how its root is reached from the folder of the pages: `./` or `../`. */
const rootAddress = (): string =>
  document.querySelector<HTMLMetaElement>("meta[name=punctual-root]")?.content ?? "../"

/** The relative address of the API. */
export const apiAddress = (): string => `${rootAddress()}api/v1/`

/** The address of the service as this reader reaches it. */
export const serviceUrl = (): string => new URL(rootAddress(), location.href).href.replace(/\/$/, "")
