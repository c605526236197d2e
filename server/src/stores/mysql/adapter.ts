// MySQL, MariaDB and TiDB as a store: a database that several nodes share.
import { serverAdapter } from "../serverAdapter.ts"
import { flavours, formOf, type MysqlTarget, mysqlUrlShown, parseMysqlUrl, titles } from "./mysqlUrl.ts"

const backupTools = {
  mysql: "mysqldump --single-transaction",
  mariadb: "mariadb-dump --single-transaction or mariadb-backup",
  tidb: "br or Dumpling",
} as const

export const mysql = serverAdapter<MysqlTarget>({
  name: "mysql",
  schemes: flavours.map((flavour) => `${flavour}://`),
  forms: Object.fromEntries(
    flavours.map((flavour) => [formOf(flavour), `a ${titles[flavour]} database, which nodes can share`]),
  ),
  parse: parseMysqlUrl,
  shown: mysqlUrlShown,
  open: async (target, opening) => (await import("./MysqlStore.ts")).MysqlStore.layer({ ...opening, target }),
  keep: async (target) => (await import("./mysqlKeeper.ts")).mysqlKeeper(target),
  tools: ({ flavour }) => ({
    product: titles[flavour],
    backup: `its own tools, such as ${backupTools[flavour]}`,
    restore: "its own tools",
  }),
})
