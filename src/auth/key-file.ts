import { createPublicKey, type JsonWebKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import type { JSONWebKeySet, JWK } from 'jose'
import type { Rejection } from '../config/parse/rejection.js'
import type { AppSpec, JwtSpec } from '../config/spec.js'
import { show } from '../config/words.js'
import { findValue } from '../config/yaml/located.js'
import type { Json } from '../foundation/json.js'
import { remember } from '../foundation/remember.js'

/**
 * Reads public keys: a key set (RFC 7517), or public keys and certificates in PEM (RFC 7468).
 * @throws Error that describes the mistake in the file, without its name
 */
export function readKeyFile(file: string): JSONWebKeySet {
  const text = readFileSync(file, 'utf8')
  const keys = text.includes('-----BEGIN ') ? keysInPem(text) : keysInSet(text)
  if (keys.length === 0) throw new Error('it has no keys')
  return { keys }
}

/**
 * The keys in the file of `auth.jwt.keys`; undefined without one. They are read once for each configuration: the file may change before the service
 * begins, which verifies by the keys that were checked, and that its workers compare.
 */
export const fileKeysOf = remember(({ keys }: JwtSpec) => (keys === undefined ? undefined : readKeyFile(keys)))

const PEM = /-----BEGIN ([A-Z0-9 ]+)-----[^-]+-----END \1-----/g
const CERTIFICATE = 'CERTIFICATE'

function keysInPem(text: string): JWK[] {
  return [...text.matchAll(PEM)].map(([pem, label = '']) => {
    if (label.includes('PRIVATE')) throw new Error(PRIVATE)
    const key = label === CERTIFICATE ? new X509Certificate(pem).publicKey : createPublicKey(pem)
    return key.export({ format: 'jwk' })
  })
}

const PRIVATE = 'it has a private key, and anyone who reads it can sign tokens; the service needs the public key alone'

function keysInSet(text: string): JWK[] {
  const keys = findValue(JSON.parse(text) as Json, ['keys'])
  if (!Array.isArray(keys)) throw new Error('it is neither a key set, `{ "keys": [ … ] }`, nor PEM')
  for (const key of keys as readonly JsonWebKey[]) {
    if (key.d !== undefined || key.kty === 'oct') throw new Error(PRIVATE)
    createPublicKey({ key, format: 'jwk' })
  }
  return keys as JWK[]
}

/** Finds out whether the keys of `auth.jwt.keys` can be read, before the first token needs them. */
export function checkKeyFile({ file, auth }: AppSpec): readonly Rejection[] {
  const jwt = auth?.jwt
  if (jwt?.keys === undefined) return []
  const { keys } = jwt
  try {
    fileKeysOf(jwt)
    return []
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'there is no such file' : message
    return [
      {
        code: 'SC335',
        path: ['auth', 'jwt', 'keys'],
        part: 'value',
        message: `the keys in ${show(relative(dirname(file), keys))} cannot be read: ${reason}`,
        help: [
          'put the public keys there, as a key set (JSON) or as PEM',
          ...(code === 'ENOENT' ? ['for tests, make them: snippetctl token --subject NAME'] : []),
        ],
      },
    ]
  }
}
