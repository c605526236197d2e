// The process of the bench's DNS server. Its arguments are an address, a port (0 picks a free one), and the delay of
// slow names in milliseconds. It prints where it listens.
import { dnsAnswer } from "./dnsAnswer.ts"

const [hostname = "127.0.0.1", port = "0", delayMs = "30000"] = process.argv.slice(2)
const waitingAtMost = 10_000
let waiting = 0

const socket = await Bun.udpSocket({
  hostname,
  port: Number(port),
  socket: {
    data: (from, message, fromPort, fromAddress) => {
      const answer = dnsAnswer(message)
      if (answer === undefined) return
      if (!answer.isSlow) {
        from.send(answer.bytes, fromPort, fromAddress)
        return
      }
      if (waiting >= waitingAtMost) return
      waiting++
      setTimeout(() => {
        waiting--
        from.send(answer.bytes, fromPort, fromAddress)
      }, Number(delayMs))
    },
  },
})
process.stdout.write(`${hostname}:${socket.port}\n`)
