import type { Knex } from 'knex'

/** What work is for. Where connections are few, no resource, statement or record gets all of them. */
export interface Share {
  /** A table, or the route of hand-written code; work without a resource is not limited. */
  readonly resource?: string | undefined
  /** The statement or the route. */
  readonly name?: string | undefined
  /** The record that is changed, of those of the resource; writers of one record get one connection, one after another. */
  readonly record?: string | undefined
}

/** One SQL statement. Every parameter is PostgreSQL's text form, so that nothing is rounded or guessed on the way. */
export interface Statement extends Share {
  readonly text: string
  readonly values: readonly (string | null)[]
  /** A stable name makes it a prepared statement, on databases that keep them. */
  readonly name?: string | undefined
  /** The statement only reads, so it is sent once more when its connection was lost before an answer came. */
  readonly retry?: boolean
  /** It locks what it reads, which a replica cannot do. */
  readonly locks?: boolean
  /**
   * An index answers it at once, so that others may wait behind it on one connection; `perhaps` is for a statement that
   * only reads a page and has a name: how long it took lately will tell.
   */
  readonly quick?: boolean | 'perhaps'
  /** Finishes what another statement has begun, so it is not refused for the length of the line. */
  readonly follows?: boolean
  /** The column of whose cell the bytes are wanted, rather than the text; for statements that answer one row. */
  readonly raw?: number | undefined
}

/** Every cell is PostgreSQL's text form. */
export interface Result {
  readonly rows: readonly (readonly (string | null)[])[]
  /** Of the rows, in order; none for a statement with a name. */
  readonly columns: readonly { readonly name: string }[]
  /** Rows returned, or rows touched by a statement that returns none. */
  readonly count: number
  /** The cell that the statement wants raw. */
  readonly bytes?: Uint8Array | undefined
}

export interface Connection {
  /**
   * @throws Problem for everything in the table of `errors.ts`, and `outcome_unknown` outside of a transaction for a statement that changes
   * something and was lost; the driver's error itself for a bug of ours
   */
  query(statement: Statement): Promise<Result>
}

/** How busy the connections to a database are. */
export interface Usage {
  /** Connections of the pool: how many there may be, are open, and of those have nothing to do. */
  readonly most: number
  readonly open: number
  readonly idle: number
  /** Who waits for one of them. */
  readonly waiting: number
  /** How many statements and transactions were refused so far, because too many waited. */
  readonly refused: number
  /** Connections for quick reads, and the statements on their way there. */
  readonly lanes: number
  readonly laneStatements: number
}

/** How a transaction sees others. */
export interface TransactionOptions {
  /** As if no other were under way at the same time; read committed when left out. */
  readonly isolation?: 'serializable' | undefined
}

/** Options of a transaction, what it is for, and how long it may last. */
export interface SharedTransactionOptions extends TransactionOptions {
  readonly share?: Share
  /**
   * Ends the transaction before its work is done: it is rolled back and fails with the reason of the signal, its connection is cut, and what runs on
   * it is cancelled. Once it is being committed, a signal comes too late.
   */
  readonly signal?: AbortSignal | undefined
  /** Called before each statement, because timers may have no turn between two of them: gives the signal if it is time. */
  readonly enforce?: (() => void) | undefined
}

/** A database that is open. Nothing outside `db/` knows which kind it is. */
export interface Database extends Connection {
  /** One line for the log at start: what it is, where it is, and what it does not promise. No password. */
  readonly description: string
  /** What `serve` does when migrations are pending and nobody said `--migrate`. */
  readonly whenPending: 'apply' | 'refuse'
  /** Whether several connections work at the same time. Where not, nothing is built while others write. */
  readonly concurrent: boolean
  /** For migrations and tests. Requests never pass through it. */
  readonly knex: Knex
  /**
   * Commits what `work` did, or rolls it back and throws what it threw. A deadlock or a serialization failure
   * runs `work` again from its start, a few times.
   * @throws Problem `outcome_unknown` when the server has not said whether it has committed
   */
  transaction<T>(work: (connection: Connection) => Promise<T>, options?: SharedTransactionOptions): Promise<T>
  /**
   * Resolves once a statement has been answered.
   * @throws DatabaseRefused when waiting cannot help (wrong password, unknown database); Problem `unavailable` when it may.
   */
  probe(): Promise<void>
  usage(): Usage
  /** Where requests that only read may read: what it answers may be behind by a bound. Without a replica there is none. */
  readonly reads?: Connection
  /**
   * Makes extensions available to `create extension`, as far as they come with an embedded database; a server has its own.
   * Only an embedded database has this.
   */
  readonly loadExtensions?: (names: readonly string[]) => Promise<void>
  /** Its files as they are between two statements, in one archive that can be restored; only an embedded database has them. */
  readonly pack?: () => Promise<Uint8Array>
  /** Ends what is under way, but for what is being committed. */
  close(): Promise<void>
}

/** The database will never let us in as configured: a wrong password, an unknown database, a malformed URL, a lock held by another process. */
export class DatabaseRefused extends Error {
  override name = 'DatabaseRefused'
  /** What would be right, one sentence each; printed as `help:` lines. */
  readonly help: readonly string[]

  constructor(message: string, help: readonly string[] = [], cause?: unknown) {
    super(message, { cause })
    this.help = help
  }
}

/** Another process on this machine has the embedded database. */
export class DatabaseInUse extends DatabaseRefused {
  override name = 'DatabaseInUse'
}
