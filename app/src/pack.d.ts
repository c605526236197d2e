// The built pages of the console, imported as text. The file exists only after a build.
declare module "*.pack" {
  const text: string
  export default text
}
