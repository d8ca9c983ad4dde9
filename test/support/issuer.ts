import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

export const AUDIENCE = 'https://api.example'

/** An issuer of tokens on this machine, with its discovery document and keys. */
export interface Issuer {
  readonly url: string
  /** Paths that were asked for. */
  readonly asked: string[]
  keys: readonly JWK[]
  /** Whether it answers. */
  isUp: boolean
  /** Answers requests for keys in place of the issuer. */
  answerKeys: ((response: ServerResponse) => void) | undefined
  close(): void
}

export async function startIssuer(): Promise<Issuer> {
  const server = createServer((request, response) => {
    issuer.asked.push(request.url ?? '')
    if (!issuer.isUp) return void response.writeHead(500).end()
    if (request.url === '/keys' && issuer.answerKeys) return issuer.answerKeys(response)
    const found = { issuer: issuer.url, jwks_uri: `${issuer.url}/keys` }
    response.end(JSON.stringify(request.url === '/keys' ? { keys: issuer.keys } : found))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer: Issuer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    keys: [],
    isUp: true,
    answerKeys: undefined,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
  return issuer
}

/** A key pair of an issuer. */
export interface Signer {
  readonly jwk: JWK
  /** Signs a token of Ann that is valid for a minute; `payload` and `header` replace its members. */
  sign(
    issuer: Issuer,
    payload?: Readonly<Record<string, unknown>>,
    header?: Readonly<Record<string, unknown>>,
  ): Promise<string>
}

export async function makeSigner(kid: string): Promise<Signer> {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true })
  return {
    jwk: { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' },
    sign: (issuer, payload = {}, header = {}) =>
      new SignJWT({
        iss: issuer.url,
        aud: AUDIENCE,
        sub: 'ann',
        exp: Math.floor(Date.now() / 1000) + 60,
        ...payload,
      })
        .setProtectedHeader({ alg: 'RS256', kid, ...header })
        .sign(privateKey),
  }
}
