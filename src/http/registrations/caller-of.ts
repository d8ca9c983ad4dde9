import type { IncomingMessage } from 'node:http'
import type { Identity } from '../../resource/identity.js'

/** A symbol that every copy of this module knows, so that no copy keeps the callers. */
const CALLER = Symbol.for('snippetctl.caller')

/** Tells the mounts that receive a request who sent it. */
export function setCaller(request: IncomingMessage, caller: Identity | undefined): void {
  Object.defineProperty(request, CALLER, { value: caller, configurable: true })
}

/** Returns the caller of a request that a mounted router receives, as `context.identity` has it; undefined without a credential. */
export function callerOf(request: IncomingMessage): Identity | undefined {
  return (request as { readonly [CALLER]?: Identity })[CALLER]
}
