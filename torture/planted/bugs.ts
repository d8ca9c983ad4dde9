/** A mistake that somebody could make, and the test that must notice. */
export interface PlantedBug {
  readonly name: string
  readonly file: string
  /** Stands in the file exactly once; when it does not, the bug has to be planted anew. */
  readonly search: string
  readonly replace: string
  /** The file of the test, and a part of the name of what must fail in it. */
  readonly caughtBy: { readonly file: string; readonly test: string; readonly database: 'local' | 'embedded' }
}

/** One of each kind that such services have had. */
export const BUGS: readonly PlantedBug[] = [
  {
    name: 'nobody listens for errors of idle connections',
    file: 'src/db/pooled-database.ts',
    search: "  pool.on('error', ignore)\n",
    replace: '',
    caughtBy: { file: 'test/database-recovery', test: 'an idle connection was cut', database: 'local' },
  },
  {
    name: 'a list has no LIMIT',
    file: 'src/db/statements.ts',
    search: "size === undefined ? '' : ` limit ${size} + 1`",
    replace: "''",
    caughtBy: { file: 'test/spec-set-b', test: '', database: 'local' },
  },
  {
    name: 'a write of unknown outcome is sent again',
    file: 'src/db/pooled-database.ts',
    search: '(statement.retry && isLost(error))',
    replace: 'isLost(error)',
    caughtBy: { file: 'test/database-recovery', test: 'never repeats a write', database: 'local' },
  },
  {
    name: 'half a surrogate pair is stored as another character',
    file: 'src/fields/formats.ts',
    search: 'text.isWellFormed() && ',
    replace: '',
    caughtBy: { file: 'test/body-values', test: 'surrogate', database: 'local' },
  },
  {
    name: 'an answer is given before COMMIT has succeeded',
    file: 'src/db/pooled-database.ts',
    search: "const { command } = await query({ text: 'commit', values: [] })",
    replace: "const command: string = ''\n    query({ text: 'commit', values: [] }).catch(() => undefined)",
    caughtBy: { file: 'test/handlers-and-records', test: 'committed', database: 'local' },
  },
  {
    name: 'a client is not told when to come again',
    file: 'src/db/errors.ts',
    search: "{ 'Retry-After': '1' }",
    replace: '{}',
    caughtBy: { file: 'test/database-errors', test: '', database: 'local' },
  },
  {
    name: 'a connection that did not answer in time is used again',
    file: 'src/db/pooled-database.ts',
    search: 'client.release(error !== null && isBroken(error))',
    replace: 'client.release(false)',
    caughtBy: { file: 'test/database-recovery', test: 'freezes', database: 'local' },
  },
  {
    name: 'what the driver says reaches the client',
    file: 'src/db/errors.ts',
    search: 'fault?.message ?? detail',
    replace: 'fault?.message ?? cause.message',
    caughtBy: { file: 'test/database-errors', test: '', database: 'local' },
  },
  {
    name: 'a doubled slash matches',
    file: 'src/http/routes.ts',
    search: "path.slice(1, path.endsWith('/') ? -1 : undefined).split('/')",
    replace: "path.split('/').filter((segment) => segment !== '')",
    caughtBy: { file: 'test/http-protocol', test: '', database: 'local' },
  },
  {
    name: 'a parameter that nobody knows is ignored',
    file: 'src/resource/list.ts',
    search: "if (spec.unknownQuery === 'refuse') {",
    replace: "if (spec.unknownQuery === 'never') {",
    caughtBy: { file: 'test/list-parameters', test: '', database: 'local' },
  },
  {
    name: 'a body may be nested without end',
    file: 'src/json-body.ts',
    search: 'if (cursor.depth > DEPTH)',
    replace: 'if (cursor.depth > 1e9)',
    caughtBy: { file: 'test/json-gate', test: '', database: 'local' },
  },
  {
    name: 'two processes may have one embedded database',
    file: 'src/db/pglite-lock.ts',
    search: '  takeLock(path, directory)\n  let held = true',
    replace: '  let held = true',
    caughtBy: { file: 'test/database-lock', test: '', database: 'embedded' },
  },
]
