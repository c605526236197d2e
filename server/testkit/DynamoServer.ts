// DynamoDB Local, the server that AWS publishes for tests, as jars. It is one process without partitions, throttling and
// sizes of collections, and it checks no signature. It listens on all interfaces, so a small class narrows it to
// loopback. In memory it keeps nothing over a kill; in a folder it does.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type MavenPackages, mavenPackages } from "./MavenPackages.ts"
import { ServerProcess } from "./ServerProcess.ts"

/** Four packages are named in versions that can be had, instead of those that DynamoDB Local names. */
const replaced = {
  cognitoidentity: "2.41.0",
  cognitoidentityprovider: "2.47.6",
  pinpoint: "2.41.0",
  "dynamodb-enhanced": "2.47.6",
}
const group = "<groupId>software.amazon.awssdk</groupId>"
const names = Object.entries(replaced)

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>punctual</groupId><artifactId>dynamodb-local</artifactId><version>1</version><dependencies>
<dependency><groupId>software.amazon.dynamodb</groupId><artifactId>DynamoDBLocal</artifactId><version>3.3.1</version>
<exclusions>${names.map(([name]) => `<exclusion>${group}<artifactId>${name}</artifactId></exclusion>`).join("")}</exclusions></dependency>
${names.map(([name, version]) => `<dependency>${group}<artifactId>${name}</artifactId><version>${version}</version></dependency>`).join("\n")}
</dependencies></project>`

const launcher = `
import org.eclipse.jetty.server.*;
import software.amazon.dynamodb.services.local.main.ServerRunner;
import software.amazon.dynamodb.services.local.server.DynamoDBProxyServer;
public class OnLoopback {
  public static void main(String[] args) throws Exception {
    DynamoDBProxyServer local = ServerRunner.createServerFromCommandLineArgs(args);
    var field = DynamoDBProxyServer.class.getDeclaredField("server");
    field.setAccessible(true);
    for (Connector connector : ((Server) field.get(local)).getConnectors()) ((ServerConnector) connector).setHost("127.0.0.1");
    local.start();
    System.out.println("READY");
    local.join();
  }
}
`

export const dynamoPackages = (): MavenPackages => mavenPackages("DynamoDB Local 3.3.1", pom)

/** Why the tests cannot run. `undefined` if they can. */
export const dynamoMissing = (): string | undefined => {
  const packages = dynamoPackages()
  return "missing" in packages ? packages.missing : undefined
}

export class DynamoServer implements AsyncDisposable {
  readonly process: ServerProcess
  #stores = 0

  readonly #data: string | undefined

  private constructor(process: ServerProcess, data: string | undefined) {
    this.process = process
    this.#data = data
  }

  static async start(options: { readonly keepsData?: boolean } = {}): Promise<DynamoServer> {
    const packages = dynamoPackages()
    if ("missing" in packages) throw new Error(packages.missing)
    const { folder: jars } = packages
    const data =
      options.keepsData === true ? mkdtempSync(join(memoryFolder(), "punctual-dynamodb-")) : undefined
    const process = await ServerProcess.start({
      title: "DynamoDB Local",
      prepare: ({ folder }) => writeFileSync(join(folder, "OnLoopback.java"), launcher),
      program: ({ folder, ports: [port = 0] }) => ({
        command: "java",
        args: [
          ...[
            "-Xms64m",
            "-Xmx768m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",

            `-Djava.library.path=${jars}`,
          ],
          ...[
            "-cp",
            `${jars}/*`,
            join(folder, "OnLoopback.java"),
            "-port",
            String(port),
            "-sharedDb",
            "-disableTelemetry",
          ],
          ...(data === undefined ? ["-inMemory"] : ["-dbPath", data]),
        ],
        env: { DDB_LOCAL_TELEMETRY: "0" },
      }),
      isReady: (_, logs) => logs.includes("READY"),
    })
    return new DynamoServer(process, data)
  }

  /** A store that does not exist yet. `address` leads to the server, for example through a proxy. */
  url(address: string = this.process.address, prefix = `store${++this.#stores}`): string {
    return `dynamodb://test:secret@eu-central-1/${prefix}?endpoint=http://${address}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]()
    if (this.#data !== undefined) rmSync(this.#data, { recursive: true, force: true })
  }
}

/** On a disk, DynamoDB Local is very slow. What is in memory outlives a kill of its process, too. */
const memoryFolder = (): string => (existsSync("/dev/shm") ? "/dev/shm" : tmpdir())
