// Migrations are imported as text, so that a compiled executable carries them.
declare module "*.sql" {
  const text: string
  export default text
}
