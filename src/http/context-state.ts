import type { Profile, Profiles } from '../access/profiles.js'
import type { JsonBody } from '../foundation/json-body.js'
import type { Caller } from '../resource/access.js'
import type { Scopes } from '../resource/plan.js'
import type { AfterCommit } from './registrations/after-commit.js'
import type { watchStores } from './outcomes.js'
import type { PublicUrl } from './headers/public-url.js'
import type { Records } from './records.js'
import type { Context } from './route.js'
import type { Params } from './route-table.js'
import type { Deadlines } from './connections/deadlines.js'
import type { ReceiveBudget } from './connections/receive-budget.js'
import type { Exchange } from './server/exchange.js'

/** The parts that the contexts of all requests share. */
export interface Surroundings {
  readonly records: Records
  readonly reverse: Context['reverse']
  readonly publicUrl: PublicUrl
  /** The rights of callers; undefined without `auth`. */
  readonly profiles?: Profiles | undefined
  readonly runAfterCommit: AfterCommit['run']
  /** Ends the transactions of a request in time. */
  readonly watch: Deadlines['watch']
  readonly enforce: Deadlines['enforce']
  /** The room for bodies. */
  readonly bodies: ReceiveBudget
  /** The time limit of a transaction after a commit, in ms. */
  readonly handlerTimeout: number
}

/** The parts that all contexts of one request share. */
export interface RequestState {
  readonly exchange: Exchange
  readonly params: Params
  readonly surroundings: Surroundings
  readonly profile: Profile | undefined
  readonly caller: Caller | undefined
  readonly contextOf: (acting: Acting) => Context
  scopes: Scopes | undefined
  reading: Promise<JsonBody> | undefined
  /** Created for the first store. */
  watched: ReturnType<typeof watchStores> | undefined
}

/** One context of a request: which records it accesses, and on whose behalf. */
export interface Acting {
  readonly state: RequestState
  readonly records: Records
  /** The owner of the context: a request, a transaction, or an after-commit task. */
  readonly kind: 'request' | 'inside' | 'later'
  /** Whether it acts for the service, which nothing limits, instead of the caller. */
  readonly isService: boolean
}

/** The key under which the context of a transaction keeps a function that runs work, and undoes its changes if it fails. Plugins do not need it. */
export const ATTEMPT = Symbol('attempt')

export interface WithAttempts {
  readonly [ATTEMPT]: <T>(work: (context: Context) => Promise<T>) => Promise<T>
}
