import type { Knex } from 'knex'

export type { Knex } from 'knex'

/** Identifies work to the fair queue, which keeps a busy resource, statement or record from taking every connection. */
export interface QueueKey {
  /** The table, or the route name of hand-written code. Work without a resource is not limited. */
  readonly resource?: string | undefined
  /** The name of the statement or route. */
  readonly name?: string | undefined
  /** The record that the work changes. Writers of one record share one connection and take turns. */
  readonly record?: string | undefined
}

/** One SQL statement. Every parameter is in PostgreSQL's text form, so that nothing is rounded or converted on the way. */
export interface Statement extends QueueKey {
  readonly text: string
  readonly values: readonly (string | null)[]
  /** Prepares the statement under this name, on databases that keep prepared statements. */
  readonly name?: string | undefined
  /** The statement only reads, so it may be sent again if its connection is lost before the response arrives. */
  readonly retry?: boolean
  /** The statement locks rows, which a replica cannot do. */
  readonly locks?: boolean
  /**
   * The statement is fast because it uses an index, so others may wait behind it on one connection. `perhaps` is for a named statement that reads a
   * page; its recent latency decides.
   */
  readonly quick?: boolean | 'perhaps'
  /** Continues work that is already under way, so it is accepted even if the queue is full. */
  readonly follows?: boolean
  /** The text has one statement, even without values: the server rejects several. */
  readonly single?: boolean
  /**
   * Ends the statement when nobody waits for it any more: it leaves the queue or is cancelled at the server, and fails with the reason of
   * the signal. For statements that only read, outside of transactions.
   */
  readonly signal?: AbortSignal | undefined
  /** The column to return as bytes instead of text, for statements that return one row. */
  readonly raw?: number | undefined
  /** Returns every cell as text, even on connections of migrations, which otherwise return values of the driver's types. */
  readonly textOnly?: boolean
}

/** Every cell is PostgreSQL's text form. */
export interface Result {
  readonly rows: readonly (readonly (string | null)[])[]
  /** The columns of the rows, in order; empty for a named statement. */
  readonly columns: readonly { readonly name: string; readonly dataTypeID?: number }[]
  /** The number of rows returned, or of rows changed if the statement returns none. */
  readonly count: number
  /** The cell of the column that the statement wants as bytes. */
  readonly bytes?: Uint8Array | undefined
  /** The first word of the server's answer, such as `INSERT`. */
  readonly command?: string
}

export interface Connection {
  /**
   * @throws Problem for every error in the table of `errors.ts`, and `outcome_unknown` if the connection is lost during a write outside a
   * transaction; the driver's own error for a bug of ours
   */
  query(statement: Statement): Promise<Result>
  /** Like `query`, but the transaction goes on if the statement fails. Undefined outside of transactions, where each statement stands alone. */
  readonly attempt?: Connection['query']
  /**
   * Runs work whose error undoes its statements only, so that the transaction goes on. Other statements of the transaction wait for its end, after which
   * its connection sends nothing more. Undefined outside of transactions.
   */
  readonly savepoint?: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>
  /** Rolls the transaction back and runs it again, also if its work catches the error that this throws. Undefined outside of transactions. */
  readonly repeat?: (reason: Error) => never
}

/** How busy the connections to a database are. */
export interface Usage {
  /** The pool's connections: the maximum, how many are open, and how many of those are idle. */
  readonly max: number
  readonly open: number
  readonly idle: number
  /** Statements and transactions that wait for a connection. */
  readonly waiting: number
  /** Statements and transactions rejected so far because the queue was full. */
  readonly rejected: number
  /** Open connections for pipelined reads, and the reads in progress on them. */
  readonly pipelinedConnections: number
  readonly pipelinedStatements: number
}

/** The isolation of a transaction. */
export interface TransactionOptions {
  /** The default is read committed. */
  readonly isolation?: 'serializable' | undefined
}

/** The isolations besides the default. */
export const ISOLATIONS: readonly NonNullable<TransactionOptions['isolation']>[] = ['serializable']

/** Transaction options, the queue key, and the conditions that end the transaction. */
export interface InternalTransactionOptions extends TransactionOptions {
  readonly queueKey?: QueueKey
  /** Reads one snapshot and changes nothing, for any length of time: the caller must end the transaction. */
  readonly snapshot?: boolean
  /** Lets statements, and pauses between them, take any time. For commands, not for requests. */
  readonly unlimited?: boolean
  /**
   * Aborts the transaction: it is rolled back and fails with the signal's reason, the running statement is cancelled, and the connection is closed. A
   * signal that arrives during the commit has no effect.
   */
  readonly signal?: AbortSignal | undefined
  /** Runs before each statement and aborts `signal` if the deadline has passed: timers may not fire between two statements. */
  readonly enforce?: (() => void) | undefined
}

/** An open database. Only `db/` knows which kind it is. */
export interface Database extends Connection {
  /** One line for the startup log: the kind of database, its location and its limitations, without the password. */
  readonly description: string
  /** What `serve` does about pending migrations without `--migrate`. */
  readonly whenPending: 'apply' | 'reject'
  /** Whether several connections work in parallel. If not, indexes cannot be built concurrently. */
  readonly concurrent: boolean
  /** For migrations and tests; requests do not use it. */
  readonly knex: Knex
  /**
   * Commits the changes of `work`, or rolls them back and rethrows its error. After a deadlock or a serialization failure, and if it asks for that
   * by `repeat`, `work` is run again, up to three times.
   * @throws Problem `outcome_unknown` if the connection is lost during the commit
   */
  transaction<T>(work: (connection: Connection) => Promise<T>, options?: InternalTransactionOptions): Promise<T>
  /**
   * Resolves once the database has answered a statement.
   * @throws DatabaseRejected if retrying is pointless (wrong password, unknown database); Problem `unavailable` if it may help
   */
  probe(): Promise<void>
  usage(): Usage
  /** The replica for read-only requests; its data may be stale up to a configured bound. Undefined without a replica. */
  readonly reads?: Connection
  /** Where those requests read. Undefined without a replica. */
  readonly replica?: ReplicaUse
  /** Makes bundled extensions available to `create extension`. Only an embedded database has this. */
  readonly loadExtensions?: (names: readonly string[]) => Promise<void>
  /** Returns a consistent archive of the database's files that can be restored. Only an embedded database has this. */
  readonly pack?: () => Promise<Uint8Array>
  /** The results of earlier work on an empty database. Only a scratch database of a project has this. */
  readonly results?: ResultStore
  /** Ends all work in progress except commits. */
  close(): Promise<void>
}

/** Whether reads go to the replica. */
export interface ReplicaUse {
  /** Undefined until the first reads have shown it. */
  readonly isUsed: () => boolean | undefined
  /** Calls `report` when reads begin to go to the primary, with the reason, and when they go to the replica again. */
  onChange(report: (change: ReplicaChange) => void): void
}

/** Why reads go to the primary; undefined if they go to the replica again. */
export type ReplicaChange = { readonly reason: string; readonly cause?: unknown } | undefined

/** Keeps results between commands. Any result may be lost. */
export interface ResultStore {
  /** Returns the result for the key; undefined if none is kept. */
  read(key: string): Promise<unknown>
  write(key: string, value: unknown): Promise<void>
}

/** The database can never be opened as configured: a wrong password, an unknown database, a malformed URL, or a lock held by another process. */
export class DatabaseRejected extends Error {
  override name = 'DatabaseRejected'
  /** How to fix it, one sentence each; printed as `help:` lines. */
  readonly help: readonly string[]

  constructor(message: string, help: readonly string[] = [], cause?: unknown) {
    super(message, { cause })
    this.help = help
  }
}

/** Another process on this machine uses the embedded database. */
export class DatabaseInUse extends DatabaseRejected {
  override name = 'DatabaseInUse'
}
