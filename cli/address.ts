import { Failure } from './failure.js'

interface Address {
  readonly port: number
  readonly host: string
}

/** What the system says about an address, and what would be right. */
const ADDRESS_ERRORS: Readonly<Record<string, (address: Address) => readonly [message: string, help: string]>> = {
  EADDRINUSE: ({ port }) => [
    `port ${port} is already in use`,
    `choose another: snippetctl serve --port ${port + 1 > 65_535 ? 0 : port + 1}   (or set PORT)`,
  ],
  EACCES: ({ port }) => [
    `port ${port} may not be used by this user`,
    'choose one above 1023: snippetctl serve --port 8000   (or set PORT)',
  ],
  EADDRNOTAVAIL: ({ host }) => [
    `this machine has no address \`${host}\``,
    'listen on --host 127.0.0.1, or on --host 0.0.0.0 for all',
  ],
  ENOTFOUND: ({ host }) => [
    `the host \`${host}\` is unknown`,
    'listen on --host 127.0.0.1, or on --host 0.0.0.0 for all',
  ],
  EAI_AGAIN: ({ host }) => [`the host \`${host}\` could not be looked up`, 'give an address: --host 127.0.0.1'],
}

/** The error of listening, told as what would be right; any other as it is. */
export function refusedAddress(address: Address, cause: unknown): unknown {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const explain = ADDRESS_ERRORS[code]
  if (explain === undefined) return cause
  const [message, help] = explain(address)
  return new Failure(2, message, [help], cause)
}
