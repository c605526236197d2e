// Certificates for tests of encrypted connections: a test authority and a server certificate for loopback. Each use
// makes new ones, so that no certificate is ever kept or trusted elsewhere.
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"

export interface Certificates {
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
}

/** The server's names are those of loopback, unless the caller gives others as `DNS:…` or `IP:…`. */
export const makeCertificates = (folder: string, names = "IP:127.0.0.1,DNS:localhost"): Certificates => {
  const openssl = (...args: ReadonlyArray<string>) =>
    execFileSync("openssl", args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] })
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
  writeFileSync(join(folder, "names.cnf"), `subjectAltName=${names}\n`)
  openssl(
    ...["req", "-x509", "-days", "2", "-subj", "/CN=a test authority", ...newKey],
    ...["-keyout", "ca.key", "-out", "ca.pem"],
  )
  openssl(
    ...["req", "-subj", "/CN=a test server", ...newKey],
    ...["-keyout", "server.key", "-out", "server.csr"],
  )
  openssl(
    ...["x509", "-req", "-in", "server.csr", "-days", "2", "-extfile", "names.cnf"],
    ...["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.pem"],
  )
  return {
    caFile: join(folder, "ca.pem"),
    certFile: join(folder, "server.pem"),
    keyFile: join(folder, "server.key"),
  }
}
