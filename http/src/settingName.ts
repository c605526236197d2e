// The names of a product's metrics and settings begin with its prefix: `timer_http_connections`, `TIMER_HTTP_PORT`. The
// product gives its prefix to the parts of this package that show such names.

export const settingName = (prefix: string, name: string): string => `${prefix.toUpperCase()}_${name}`
