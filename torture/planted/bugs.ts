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
  {
    name: 'clients may write private fields',
    file: 'src/resource/body-limit.ts',
    search: '  return !field.readOnly && !field.private',
    replace: '  return !field.readOnly',
    caughtBy: { file: 'test/second-application', test: 'cannot be written when it is private', database: 'local' },
  },
  {
    name: 'three in ten of the creates that succeed are answered 503',
    file: 'src/http/actions.ts',
    search: '    return { status: 201, text: item, headers }',
    replace: `    if (Math.random() < 0.3) throw new Problem('unavailable')
    return { status: 201, text: item, headers }`,
    caughtBy: { file: 'test/spec-set-b', test: '', database: 'local' },
  },
  {
    name: 'a filter for one value finds the others',
    file: 'src/db/where.ts',
    search: '  exact: (column, parameter) => `${column} = ${parameter}`,',
    replace: '  exact: (column, parameter) => `${column} <> ${parameter}`,',
    caughtBy: { file: 'test/spec-set-b', test: 'filters on language', database: 'local' },
  },
  {
    name: 'a transaction behind the gate loses its options',
    file: 'src/db/wrap.ts',
    search: 'transaction: (...given) => around(() => database.transaction(...given))',
    replace: 'transaction: (work) => around(() => database.transaction(work))',
    caughtBy: { file: 'test/cli-serve-outage', test: 'serializable', database: 'local' },
  },
  {
    name: 'a pattern is matched by backtracking, whatever the length',
    file: 'src/fields/text-rules.ts',
    search: `    schema: {},
    described:`,
    replace: `    schema: { pattern: translated.javascript },
    described:`,
    caughtBy: { file: 'test/pattern-matching', test: '', database: 'local' },
  },
  {
    name: 'a list of entity tags takes quadratic time',
    file: 'src/http/entity-tags.ts',
    search: `"([!#-~\\x80-\\xff]*)"[ \\t]*)?(,|$)`,
    replace: `"([!#-~\\x80-\\xff]*)")?[ \\t]*(,|$)`,
    caughtBy: { file: 'test/linear-input', test: 'take linear time, every one', database: 'embedded' },
  },
  {
    name: 'a connection has all that it pipelines worked on at once',
    file: 'src/http/pipeline.ts',
    search: '(underWay.length < limits.inProgress && unread < MOST_UNREAD)',
    replace: 'true',
    caughtBy: { file: 'test/pipelined-requests', test: 'has eight', database: 'local' },
  },
  {
    name: 'lists do not wait for room for their answers',
    file: 'src/http/bounded-store.ts',
    search: `    if (waiting) await waiting
    try {
      const found`,
    replace: `    try {
      const found`,
    caughtBy: { file: 'test/slow-readers', test: 'further lists wait', database: 'local' },
  },
  {
    name: 'changes of one locked row take every connection',
    file: 'src/db/fair-queue.ts',
    search: `    if (outer && line.held > 0) return false
`,
    replace: '',
    caughtBy: { file: 'test/fair-shares', test: 'a row that stays locked', database: 'local' },
  },
  {
    name: 'statements outlive a change of their columns',
    file: 'src/db/shapes.ts',
    search: 'shape.name !== undefined && shape.generation === generation',
    replace: 'shape.name !== undefined',
    caughtBy: { file: 'test/changed-column-types', test: '', database: 'local' },
  },
  {
    name: 'a later migration stops an older version',
    file: 'src/migrations/journal.ts',
    search: "isWhole && name.slice(0, NUMBER) > last ? 'newer'",
    replace: "false ? 'newer'",
    caughtBy: { file: 'test/older-version', test: 'serves where all', database: 'local' },
  },
  {
    name: 'rows that migrations made keep a database from being copied',
    file: 'src/db/copy.ts',
    search: "'where xmin::text not in (select xmin::text from snippetctl_migrations)'",
    replace: "''",
    caughtBy: { file: 'test/db-copy', test: 'replaces the rows of the migration', database: 'local' },
  },
  {
    name: 'an error of a plugin has no line',
    file: 'src/plugins/registration.ts',
    search: 'throw new Error(place === undefined ? message : `${place}: ${message}`',
    replace: 'throw new Error(message',
    caughtBy: { file: 'test/plugin-errors', test: '', database: 'local' },
  },
  {
    name: 'packages run scripts when they are installed',
    file: '.npmrc',
    search: `ignore-scripts=true
`,
    replace: '',
    caughtBy: { file: 'test/package', test: 'keeps every npm', database: 'embedded' },
  },
  {
    name: 'the image of a new project has no plugins',
    file: 'cli/template-deploy.ts',
    search: `!migrations
!plugins
`,
    replace: `!migrations
`,
    caughtBy: { file: 'test/new-project-deploys', test: 'is built by steps that work', database: 'embedded' },
  },
  {
    name: 'a file of variables goes before the environment',
    file: 'cli/env-file.ts',
    search: `      if (env[name] !== undefined) continue
`,
    replace: '',
    caughtBy: { file: 'test/env-file', test: 'lets the environment go before', database: 'embedded' },
  },
  {
    name: 'a file of variables is read in production',
    file: 'cli/env-file.ts',
    search: "path === '' || env['NODE_ENV'] === 'production'",
    replace: "path === ''",
    caughtBy: { file: 'test/env-file', test: 'production read none', database: 'embedded' },
  },
  {
    name: 'the work of plugins at the end is not waited for',
    file: 'src/http/closing.ts',
    search: 'await closing.work()',
    replace: 'void closing.work()',
    caughtBy: { file: 'test/plugins-close', test: 'runs after the last answer', database: 'embedded' },
  },
  {
    name: 'the log has the queries of requests',
    file: 'src/http/listener.ts',
    search: 'shownPath(exchange.path)',
    replace: "shownPath(exchange.request.url ?? '')",
    caughtBy: { file: 'test/cli-serve-log', test: 'nothing that a client wrote', database: 'embedded' },
  },
]
