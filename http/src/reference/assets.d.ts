// Files that are imported as text.
declare module "*.css" {
  const text: string
  export default text
}

declare module "*.client.js" {
  const text: string
  export default text
}
