/** The address of the service as this reader reaches it. */
export const serviceUrl = (): string => new URL("..", location.href).href.replace(/\/$/, "")
