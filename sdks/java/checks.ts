// How `npm run test:clients` checks the client for Java: Maven compiles it without warnings, checks the reference comments,
// runs the tests and installs the packages. Then a project apart uses the installed packages as modules.
import { type ClientChecks, isAtLeast } from "../../scripts/clientChecks.ts"

/** Maven and the JDK that it uses, in one output. */
const isGoodMaven = (output: string): boolean => {
  const [, maven] = /Apache Maven (\d+[\d.]*)/.exec(output) ?? []
  const [, java] = /Java version: (\d+[\d.]*)/.exec(output) ?? []
  return isAtLeast(maven, "3.8") && isAtLeast(java, "17")
}

/** Downloads of the first run would fill the log. */
const quiet = ["--batch-mode", "--no-transfer-progress", "-Dstyle.color=never"]

export const javaChecks: ClientChecks = {
  name: "Java",
  folder: "sdks/java",
  tools: [
    { name: "Maven 3.8 with JDK 17 or newer", command: "mvn", args: ["--version"], isGood: isGoodMaven },
    { name: "javadoc of a JDK 17 or newer", command: "javadoc", args: ["--version"], isGood: () => true },
  ],
  steps: [
    {
      title: "compiler, reference comments, tests and packages",
      command: "mvn",
      args: [...quiet, "clean", "install"],
      report: { junit: "target/surefire-reports" },
    },
    {
      title: "a program with modules that uses the installed packages",
      command: "mvn",
      args: [...quiet, "--file", "consumer/pom.xml", "clean", "test"],
      report: { junit: "consumer/target/surefire-reports" },
    },
    {
      title: "the programs that the console copies as Java",
      command: process.execPath,
      args: [
        "../harness/copiedPrograms.ts",
        "java",
        "target/copied",
        "java",
        "-cp",
        "../../client/target/classes",
        "Main.java",
      ],
    },
  ],
}
