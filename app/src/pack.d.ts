// Built pages, imported as the path of their file. The file exists only after a build.
declare module "*.pack" {
  const path: string
  export default path
}
