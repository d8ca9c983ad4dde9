import { Failure } from '../failure.js'

interface Address {
  readonly port: number
  readonly host: string
}

/** The options and the variable that set an address. */
interface Flags {
  readonly port: string
  readonly variable: string
  readonly host: string
}

const SERVED: Flags = { port: '--port', variable: 'PORT', host: '--host' }

/** Messages and help by the error code of the system. */
const ADDRESS_ERRORS: Readonly<
  Record<string, (address: Address, flags: Flags) => readonly [message: string, help: string]>
> = {
  EADDRINUSE: ({ port }, flags) => [
    `port ${port} is already in use`,
    `choose another: snippetctl serve ${flags.port} ${port + 1 > 65_535 ? 0 : port + 1}   (or set ${flags.variable})`,
  ],
  EACCES: ({ port }, flags) => [
    `port ${port} may not be used by this user`,
    `choose one above 1023: snippetctl serve ${flags.port} 8000   (or set ${flags.variable})`,
  ],
  EADDRNOTAVAIL: ({ host }, flags) => [
    `this machine has no address \`${host}\``,
    `listen on ${flags.host} 127.0.0.1, or on ${flags.host} 0.0.0.0 for all`,
  ],
  ENOTFOUND: ({ host }, flags) => [
    `the host \`${host}\` is unknown`,
    `listen on ${flags.host} 127.0.0.1, or on ${flags.host} 0.0.0.0 for all`,
  ],
  EAI_AGAIN: ({ host }, flags) => [
    `the host \`${host}\` could not be looked up`,
    `give an address: ${flags.host} 127.0.0.1`,
  ],
}

/** Turns an error of `listen` into a failure with help. Returns other errors unchanged. */
export function rejectedAddress(address: Address, cause: unknown, flags = SERVED): unknown {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const explain = ADDRESS_ERRORS[code]
  if (explain === undefined) return cause
  const [message, help] = explain(address, flags)
  return new Failure(2, message, [help], cause)
}
