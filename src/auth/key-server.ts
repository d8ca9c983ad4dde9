import { setTimeout } from 'node:timers/promises'
import type { JSONWebKeySet } from 'jose'
import { Problem } from '../foundation/problem.js'
import { ageOf, type Moment, thisMoment } from './age.js'

/** The public keys that verify tokens. */
export interface KeySource {
  /**
   * The current keys, or the last good ones while newer are fetched.
   * @throws Problem `unavailable` if keys were never fetched, or more than a day ago, and the server does not answer
   */
  current(): Promise<JSONWebKeySet>
  /**
   * Newer keys, because the current ones do not verify a token; undefined if they were fetched a moment ago.
   * @throws Problem `unavailable` if they cannot be fetched
   */
  newer(): Promise<JSONWebKeySet | undefined>
  /** How long the current keys need not be fetched again, in ms. */
  freshFor(): number
}

const MAX_AGE = 10 * 60_000
/** Keys are fetched again at this age, while the current ones serve. */
const REFRESH_AGE = 5 * 60_000
/** A service that had no requests for a while waits so long for newer keys: one of the last ones may have been withdrawn. */
const PATIENCE = 1_000
/** The last keys serve for this long if no newer ones can be fetched. */
const LAST_GOOD = 24 * 3_600_000
/** Tokens that no key verifies cause no more fetches than one in this time. */
const COOLDOWN = 30_000
const TIMEOUT = 5_000
const MAX_BYTES = 256 * 1024

/** Where the keys of an issuer are: its discovery document (OpenID Connect Discovery 1.0, section 4), or their own address. */
export interface KeyAddress {
  readonly issuer: string
  readonly jwks: string | undefined
}

/** Fetches keys on demand, and keeps them. `onChange` is called when they differ from the ones before. */
export function createKeyServer(address: KeyAddress, onChange: () => void): KeySource {
  let kept: { readonly keys: JSONWebKeySet; readonly text: string; readonly at: Moment } | undefined
  let asked: Moment | undefined
  let failure: unknown
  let fetching: Promise<void> | undefined
  const refresh = async (): Promise<void> => {
    const at = thisMoment()
    asked = at
    try {
      const text = await fetchKeys(address)
      const keys = JSON.parse(text) as JSONWebKeySet
      if (!isKeySet(keys)) throw new Error('the answer is not a key set')
      if (kept && kept.text !== text) onChange()
      kept = { keys, text, at }
      failure = undefined
    } catch (cause) {
      failure = cause
    }
  }
  const fetchOnce = (): Promise<void> => (fetching ??= refresh().finally(() => (fetching = undefined)))
  const mayAsk = () => asked === undefined || ageOf(asked) >= COOLDOWN
  return {
    async current() {
      const age = kept === undefined ? Number.POSITIVE_INFINITY : ageOf(kept.at)
      if (age >= REFRESH_AGE && mayAsk()) void fetchOnce()
      if (kept === undefined) await fetching
      // After a failure, requests do not wait for a server that may be away.
      else if (age >= MAX_AGE && failure === undefined && fetching) await Promise.race([fetching, setTimeout(PATIENCE)])
      if (kept === undefined || ageOf(kept.at) >= LAST_GOOD) throw unavailable(failure)
      return kept.keys
    },
    freshFor: () => (kept === undefined ? 0 : MAX_AGE - ageOf(kept.at)),
    async newer() {
      if (!mayAsk() && !fetching) {
        if (failure !== undefined) throw unavailable(failure)
        return undefined
      }
      await fetchOnce()
      if (failure !== undefined) throw unavailable(failure)
      return kept?.keys
    },
  }
}

function isKeySet(given: unknown): boolean {
  const keys: unknown = typeof given === 'object' && given !== null && 'keys' in given ? given.keys : undefined
  const isKey = (key: unknown) => typeof key === 'object' && key !== null && 'kty' in key && typeof key.kty === 'string'
  return Array.isArray(keys) && keys.every(isKey)
}

function unavailable(cause: unknown): Problem {
  return new Problem('unavailable', 'the keys that verify tokens cannot be fetched', {
    headers: { 'Retry-After': String(COOLDOWN / 1000) },
    cause,
  })
}

async function fetchKeys({ issuer, jwks }: KeyAddress): Promise<string> {
  if (jwks !== undefined) return fetchText(jwks)
  const found = JSON.parse(
    await fetchText(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`),
  ) as Discovered
  if (found.issuer !== issuer) throw new Error(`the discovery document is of the issuer ${String(found.issuer)}`)
  return fetchText(String(found.jwks_uri))
}

interface Discovered {
  readonly issuer?: unknown
  readonly jwks_uri?: unknown
}

/** Redirects are not followed, and keys do not travel without TLS but on this machine. */
async function fetchText(url: string): Promise<string> {
  if (!isTrustworthy(url)) throw new Error(`keys are fetched by https, not from ${url}`)
  const response = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT),
    headers: { accept: 'application/json' },
  })
  if (!response.ok) throw new Error(`${url} answered ${response.status}`)
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of response.body ?? []) {
    bytes += piece.length
    if (bytes > MAX_BYTES) throw new Error(`${url} answered more than ${MAX_BYTES} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

/** Whether a URL is fetched over TLS, or from this machine. */
function isTrustworthy(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname))
}
