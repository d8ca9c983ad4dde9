/** A plausible mistake, and the test that must detect it. */
export interface PlantedBug {
  readonly name: string
  readonly file: string
  /** Occurs exactly once in the file; otherwise the bug must be updated. */
  readonly search: string
  readonly replace: string
  /** The test file, and a part of the name of the test that must fail. */
  readonly caughtBy: { readonly file: string; readonly test: string; readonly database: 'local' | 'embedded' }
}

/** One of each kind that such services have had. */
export const BUGS: readonly PlantedBug[] = [
  {
    name: 'errors of idle connections are not handled',
    file: 'src/db/pool/pooled-database.ts',
    search: "  pool.on('error', ignore)\n",
    replace: '',
    caughtBy: { file: 'test/db/database-recovery', test: 'an idle connection was cut', database: 'local' },
  },
  {
    name: 'a list has no LIMIT',
    file: 'src/db/statements/list-statements.ts',
    search: "size === undefined ? '' : ` limit ${size} + 1`",
    replace: "''",
    caughtBy: { file: 'test/db/statements', test: 'rows, one more than it shows', database: 'local' },
  },
  {
    name: 'a write with an unknown outcome is retried',
    file: 'src/db/pool/pooled-database.ts',
    search: '(statement.retry && isLost(error))',
    replace: 'isLost(error)',
    caughtBy: { file: 'test/db/database-recovery', test: 'never repeats a write', database: 'local' },
  },
  {
    name: 'a lone surrogate is stored as another character',
    file: 'src/fields/formats.ts',
    search: 'text.isWellFormed() && ',
    replace: '',
    caughtBy: { file: 'test/fields/body-values', test: 'surrogate', database: 'local' },
  },
  {
    name: 'the response is sent before COMMIT succeeds',
    file: 'src/db/driver/transaction.ts',
    search: `const { command } = await ask({ text: 'commit', values: [] }).catch((error: unknown) => {
      throw toOutcome(error)
    })`,
    replace: `const command: string = ''
    ask({ text: 'commit', values: [] }).catch(toOutcome)`,
    caughtBy: { file: 'test/plugins/handlers-and-records', test: 'committed', database: 'local' },
  },
  {
    name: 'a 503 has no Retry-After',
    file: 'src/db/driver/errors.ts',
    search: "{ 'Retry-After': '1' }",
    replace: '{}',
    caughtBy: { file: 'test/db/database-errors', test: 'the driver says only', database: 'local' },
  },
  {
    name: 'a connection that timed out is reused',
    file: 'src/db/pool/pooled-database.ts',
    search: 'client.release(isSpent)',
    replace: 'client.release(isSpent && error === null)',
    caughtBy: { file: 'test/db/database-recovery', test: 'freezes', database: 'local' },
  },
  {
    name: 'messages of the driver reach the client',
    file: 'src/db/driver/errors.ts',
    search: 'errors[0]?.message ?? detail',
    replace: 'errors[0]?.message ?? `${detail}: ${cause.message}`',
    caughtBy: { file: 'test/db/database-errors', test: 'never mentions tables, constraints or SQL', database: 'local' },
  },
  {
    name: 'a double slash matches a route',
    file: 'src/http/route-table.ts',
    search: "path.slice(1, path.endsWith('/') ? -1 : undefined).split('/')",
    replace: "path.split('/').filter((segment) => segment !== '')",
    caughtBy: { file: 'test/http/http-protocol', test: '/api/books/7//', database: 'local' },
  },
  {
    name: 'an unknown parameter is ignored',
    file: 'src/resource/list.ts',
    search: "if (spec.unknownQuery === 'refuse') {",
    replace: "if (spec.unknownQuery === 'refuse' && spec.name === '') {",
    caughtBy: { file: 'test/resource/list-parameters', test: 'foo=1', database: 'local' },
  },
  {
    name: 'a body may be nested without a limit',
    file: 'src/json-scanner.ts',
    search: 'if (cursor.depth > DEPTH)',
    replace: 'if (cursor.depth > 1e9)',
    caughtBy: { file: 'test/http/json-bodies', test: '40,000 levels', database: 'local' },
  },
  {
    name: 'two processes may open one embedded database',
    file: 'src/db/embedded/lock.ts',
    search: '  takeLock(path, directory)\n  let held = true',
    replace: '  void takeLock\n  let held = true',
    caughtBy: { file: 'test/db/database-lock', test: 'only one process at a time', database: 'embedded' },
  },
  {
    name: 'clients may write private fields',
    file: 'src/resource/body-limit.ts',
    search: '  return !field.readOnly && !field.private',
    replace: '  return !field.readOnly',
    caughtBy: {
      file: 'test/resource/library-application',
      test: 'cannot be written if they are private',
      database: 'local',
    },
  },
  {
    name: 'three in ten successful creates get 503',
    file: 'src/http/operations/create.ts',
    search: '      if (isHidden(resource, item)) return { status: 201, headers: at }',
    replace: '      if (Math.random() < 0.3 || isHidden(resource, item)) return { status: 503 }',
    caughtBy: { file: 'test/snippets/spec-set-b', test: 'has 10 items per page by default', database: 'local' },
  },
  {
    name: 'a filter for a value finds all other values',
    file: 'src/lookups/exact.ts',
    search: "  sql: comparing('='),",
    replace: "  sql: comparing('<>'),",
    caughtBy: { file: 'test/snippets/spec-set-b', test: 'filters on language', database: 'local' },
  },
  {
    name: 'a wrapped transaction loses its options',
    file: 'src/db/wrap.ts',
    search: 'transaction: (...given) => around(() => database.transaction(...given))',
    replace: 'transaction: (work) => around(() => database.transaction(work))',
    caughtBy: { file: 'test/cli/cli-serve-outage', test: 'serializable', database: 'local' },
  },
  {
    name: 'patterns of any length are matched by backtracking',
    file: 'src/fields/text-rules.ts',
    search: `    schema: {},
    described:`,
    replace: `    schema: { pattern: translated.javascript },
    described:`,
    caughtBy: { file: 'test/fields/pattern-matching', test: 'email', database: 'local' },
  },
  {
    name: 'a list of entity tags takes quadratic time',
    file: 'src/http/entity-tags.ts',
    search: `"([!#-~\\x80-\\xff]*)"[ \\t]*)?(,|$)`,
    replace: `"([!#-~\\x80-\\xff]*)")?[ \\t]*(,|$)`,
    caughtBy: { file: 'test/http/linear-time-input', test: 'all take linear time', database: 'embedded' },
  },
  {
    name: 'all pipelined requests of a connection are processed at once',
    file: 'src/http/server/pipeline.ts',
    search: '(underWay.length < limits.inProgress && pipelined < limits.pipelined && unread < MAX_UNREAD)',
    replace: '(underWay.length < 1_000 * limits.inProgress && unread < MAX_UNREAD)',
    caughtBy: { file: 'test/http/pipelined-requests', test: 'has eight', database: 'local' },
  },
  {
    name: 'lists do not wait for memory for their responses',
    file: 'src/http/bounded-store.ts',
    search: `      if (waiting) await waiting
      try {
        const found`,
    replace: `      void waiting
      try {
        const found`,
    caughtBy: { file: 'test/http/slow-readers', test: 'further lists wait', database: 'local' },
  },
  {
    name: 'all large lists are read at once',
    file: 'src/http/server/large-reads.ts',
    search: `    else await wait()`,
    replace: `    else void wait()`,
    caughtBy: { file: 'test/http/large-reads', test: 'one after another', database: 'local' },
  },
  {
    name: 'large lists do not give way to other requests',
    file: 'src/http/server/large-reads.ts',
    search: `else beginNextIn(pauseAfter(bytes, performance.now() - began))`,
    replace: `else beginNextIn(0 * pauseAfter(bytes, performance.now() - began))`,
    caughtBy: { file: 'test/http/large-reads', test: 'in proportion to the size', database: 'local' },
  },
  {
    name: 'changes of one locked row take every connection',
    file: 'src/db/pool/fair-queue.ts',
    search: `    if (parent && queue.held > 0) return false
`,
    replace: '',
    caughtBy: { file: 'test/db/connection-sharing', test: 'for a locked row', database: 'local' },
  },
  {
    name: 'prepared statements outlive a change of their columns',
    file: 'src/db/statements/prepared-statements.ts',
    search: 'generation === 0 ? entry.hash',
    replace: 'generation >= 0 ? entry.hash',
    caughtBy: { file: 'test/db/prepared-statements', test: 'after columns were altered', database: 'local' },
  },
  {
    name: 'a later migration stops an older version',
    file: 'src/migrations/files/journal.ts',
    search: "isWhole && numberOf(name) > last ? 'newer'",
    replace: "isWhole && numberOf(name) < last ? 'newer'",
    caughtBy: { file: 'test/migrations/older-version', test: 'serves if everything', database: 'local' },
  },
  {
    name: 'rows created by migrations prevent copying a database',
    file: 'src/db/records/copy.ts',
    search: "'where xmin::text not in (select xmin::text from snippetctl_migrations)'",
    replace: "''",
    caughtBy: { file: 'test/cli/db-copy', test: 'replaces the rows that migrations created', database: 'local' },
  },
  {
    name: 'an error in a plugin has no line number',
    file: 'src/plugins/registration.ts',
    search: 'throw new Error(place === undefined ? message : `${place}: ${message}`',
    replace: 'throw new Error(place === undefined ? message : `${message}`',
    caughtBy: { file: 'test/plugins/plugin-errors', test: 'names its line', database: 'local' },
  },
  {
    name: 'packages run scripts at installation',
    file: '.npmrc',
    search: `ignore-scripts=true
`,
    replace: '',
    caughtBy: { file: 'test/cli/package', test: 'keeps every npm', database: 'embedded' },
  },
  {
    name: 'the image of a new project has no plugins',
    file: 'cli/project/template-deploy.ts',
    search: `!migrations
!plugins
`,
    replace: `!migrations
`,
    caughtBy: { file: 'test/cli/new-project-deploys', test: 'is built by working steps', database: 'embedded' },
  },
  {
    name: '.env overrides the environment',
    file: 'cli/env-file.ts',
    search: `      if (env[name] !== undefined) continue
`,
    replace: '',
    caughtBy: { file: 'test/cli/env-file', test: 'is overridden by the environment', database: 'embedded' },
  },
  {
    name: '.env is read in production',
    file: 'cli/env-file.ts',
    search: "path === '' || env['NODE_ENV'] === 'production'",
    replace: "path === ''",
    caughtBy: { file: 'test/cli/env-file', test: 'not read in production', database: 'embedded' },
  },
  {
    name: 'onClose of plugins is not awaited',
    file: 'src/http/server/closing.ts',
    search: 'await closing.work()',
    replace: 'void closing.work()',
    caughtBy: { file: 'test/plugins/plugins-close', test: 'runs after the last response', database: 'embedded' },
  },
  {
    name: 'the log contains query strings of requests',
    file: 'src/http/server/request-log.ts',
    search: 'shownPath(exchange.path)',
    replace: "shownPath(exchange.request.url ?? '')",
    caughtBy: { file: 'test/cli/cli-serve-log', test: 'no text of a client', database: 'embedded' },
  },
  {
    name: 'an object is adopted with SQL that does not create it',
    file: 'src/migrations/introspect/adopt.ts',
    search: 'return (error.cause as Error).message',
    replace: 'return undefined',
    caughtBy: { file: 'test/migrations/adopted-objects', test: 'a domain', database: 'local' },
  },
  {
    name: 'reverting an adoption drops the adopted object',
    file: 'src/migrations/run/consent.ts',
    search: "return part === 'up' ? losses : [...losses, ...adoptedIn(files, losses)]",
    replace: `adoptedIn(files, part === 'up' ? [] : losses)
  return losses`,
    caughtBy: { file: 'test/migrations/adopted-objects', test: 'reverting an adoption drops', database: 'local' },
  },
  {
    name: 'hand-made constraints count as constraints of the configuration',
    file: 'src/migrations/plan/pair.ts',
    search: 'owns.unrecorded.has(constraint.name) &&',
    replace: 'owns !== undefined &&',
    caughtBy: { file: 'test/migrations/hand-made-objects', test: 'after a migration that states', database: 'local' },
  },
  {
    name: 'an embedded database opens without its extensions',
    file: 'src/db/embedded/pglite.ts',
    search: 'await loadInstalled(pglite)',
    replace: 'void loadInstalled',
    caughtBy: { file: 'test/db/extensions', test: 'applied, compared', database: 'embedded' },
  },
  {
    name: 'a plan is verified on the rows that migrations created',
    file: 'src/migrations/plan/prove.ts',
    search: `  await emptyTables(session, claim.from)
`,
    replace: `  void emptyTables
`,
    caughtBy: {
      file: 'test/migrations/plan-after-data-migration',
      test: 'a required column is dropped',
      database: 'local',
    },
  },
  {
    name: 'a text that is too long for an index causes a 500',
    file: 'src/db/driver/meanings.ts',
    search: '  [TOO_LONG]: oversized,',
    replace: '  [`${TOO_LONG}?`]: oversized,',
    caughtBy: {
      file: 'test/db/values-too-long-for-an-index',
      test: 'is rejected by the name of each field',
      database: 'local',
    },
  },
  {
    name: 'a conflict names a private field',
    file: 'src/db/records/guards.ts',
    search: 'guarded.some((field) => field.private) ? [] : ',
    replace: '',
    caughtBy: { file: 'test/db/unique-combinations', test: 'without naming any field', database: 'local' },
  },
  {
    name: 'one unclosed brace causes many errors',
    file: 'src/config/yaml/document.ts',
    search: "return words.code !== 'SC114' && rejected < MAX_REJECTED_TOKENS",
    replace: 'return rejected < MAX_REJECTED_TOKENS',
    caughtBy: { file: 'test/config/yaml-syntax-mistakes', test: 'an unclosed', database: 'local' },
  },
  {
    name: 'a malformed URL of the database is shown',
    file: 'src/db/pool/postgres.ts',
    search: "throw malformed(variable, 'it contains an @ after the host')",
    replace: 'throw malformed(variable, `it contains an @ after the host: ${path}`)',
    caughtBy: { file: 'test/cli/malformed-urls', test: 'of them', database: 'local' },
  },
  {
    name: 'a statement is abandoned without being cancelled',
    file: 'src/db/driver/send.ts',
    search: `      cancelStatement(client)
`,
    replace: `      void [cancelStatement, client]
`,
    caughtBy: { file: 'test/db/database-recovery', test: 'cancels the statement, which then', database: 'local' },
  },
  {
    name: 'a write with an unknown outcome is reported as not done',
    file: 'src/db/driver/outcome.ts',
    search: 'isOutcomeUnknown(error) ? outcomeUnknown(error) : toProblem(error)',
    replace: 'toProblem(error)',
    caughtBy: { file: 'test/db/write-outcomes', test: 'its outcome is unknown', database: 'local' },
  },
  {
    name: 'a request gets 504 while its write continues',
    file: 'src/http/server/deadlines.ts',
    search: '    if (exchange.writes > 0) return\n',
    replace: '',
    caughtBy: { file: 'test/http/request-deadlines', test: 'only statement', database: 'local' },
  },
  {
    name: 'a handler writes after the response',
    file: 'src/http/outcomes.ts',
    search: 'const { expired, overdue, ending } = exchange',
    replace: 'const { expired, overdue, ending } = { ...exchange, expired: false, overdue: false }',
    caughtBy: { file: 'test/http/request-deadlines', test: 'cannot write any more', database: 'local' },
  },
  {
    name: 'rare statements evict frequent ones',
    file: 'src/db/statements/prepared-statements.ts',
    search: 'if (entry.uses <= 1) {',
    replace: 'if (entry.uses >= 0) {',
    caughtBy: { file: 'test/db/prepared-statements', test: 'again and again', database: 'local' },
  },
  {
    name: 'every host is accepted on loopback',
    file: 'src/http/hosts.ts',
    search: '? isLocalName(name) :',
    replace: '? isLocalName(name) || hosts.length === 0 :',
    caughtBy: { file: 'test/http/cross-site-requests', test: 'is rejected on loopback', database: 'local' },
  },
  {
    name: 'pages of other sites may write',
    file: 'src/http/origin-check.ts',
    search: "site === 'cross-site'",
    replace: "site === 'cross-sites'",
    caughtBy: { file: 'test/http/cross-site-requests', test: 'writes nothing', database: 'local' },
  },
  {
    name: 'a body of many records has no limit',
    file: 'src/resource/body-limit.ts',
    search: 'return Math.min(most, Math.max(MIN_LIMIT, records * longestRecord(fields)))',
    replace: 'return Math.max(MIN_LIMIT, most > 0 ? records * longestRecord(fields) : 0)',
    caughtBy: { file: 'test/http/body-limits', test: 'above the configured limit', database: 'local' },
  },
  {
    name: 'any client may set the public URL',
    file: 'src/http/public-url.ts',
    search: 'const said = isTrusted(remoteAddress) ?',
    replace: "const said = isTrusted(remoteAddress) || remoteAddress !== '' ?",
    caughtBy: { file: 'test/http/public-url', test: 'are paths, whatever a client sends', database: 'local' },
  },
  {
    name: 'a list in a dialect is truncated to a page',
    file: 'src/http/operations/dialect-list.ts',
    search: 'return isPart ? inPieces(',
    replace: 'return isPart && page.length < 0 ? inPieces(',
    caughtBy: { file: 'test/dialects/data-providers', test: 'exports all records', database: 'local' },
  },
  {
    name: 'the document refers to a component that does not exist',
    file: 'src/openapi/references.ts',
    search: 'if (isComponent) return part as JsonSchema',
    replace: 'if (isComponent || within.length === 0) return part as JsonSchema',
    caughtBy: {
      file: 'test/openapi/openapi-document',
      test: 'refers only to existing named components',
      database: 'local',
    },
  },
  {
    name: 'an object that the next plan would revert is adopted',
    file: 'src/migrations/introspect/undone.ts',
    search: 'if (undoing.length === 0) return',
    replace: 'if (undoing.length >= 0) return',
    caughtBy: { file: 'test/migrations/adopted-objects', test: 'a different default', database: 'local' },
  },
  {
    name: 'the last of two duplicate keys in a filter wins',
    file: 'src/dialects/parameters.ts',
    search: 'if (error !== undefined) throw',
    replace: "if (error === '') throw",
    caughtBy: { file: 'test/dialects/dialects', test: '"status":"draft","status"', database: 'embedded' },
  },
  {
    name: 'the message of a hand-made constraint is not used',
    file: 'src/db/driver/errors.ts',
    search: 'if (detail !== undefined) return problem({',
    replace: "if (detail === '') return problem({",
    caughtBy: {
      file: 'test/db/constraint-messages',
      test: 'gets the message of the model',
      database: 'local',
    },
  },
  {
    name: "nulls have PostgreSQL's default position",
    file: 'src/db/statements/page-rows.ts',
    search: "nulls === undefined ? descending : nulls === 'first'",
    replace: 'nulls === undefined ? descending : descending',
    caughtBy: {
      file: 'test/resource/generated-requests',
      test: 'contain each record once, by links and by numbers',
      database: 'embedded',
    },
  },
  {
    name: 'an order with a position for nulls is sorted instead of read from an index',
    file: 'src/db/statements/page-rows.ts',
    search: "first?.nulls === undefined || limit === ''",
    replace: "first?.nulls === undefined || limit !== ''",
    caughtBy: { file: 'test/resource/null-ordering', test: 'is read from an ascending index', database: 'local' },
  },
  {
    name: 'all clients together may pipeline without a limit',
    file: 'src/http/server/pipeline.ts',
    search: 'if (underWay.length > 1) pipelined',
    replace: 'if (underWay.length > 1_000) pipelined',
    caughtBy: { file: 'test/http/pipelined-requests', test: 'have sixty-four', database: 'embedded' },
  },
  {
    name: 'filters find records by a field that they hide',
    file: 'src/db/statements/where.ts',
    search: 'return shows === undefined ? condition : `(${condition} and ${shows})`',
    replace: "return shows === undefined || true ? condition : ''",
    caughtBy: {
      file: 'test/access/rows-and-fields',
      test: 'a filter finds only rows that show its field',
      database: 'embedded',
    },
  },
  {
    name: 'one grant may cover a record before a change, and another after it',
    file: 'src/db/statements/granted-changes.ts',
    search: 'return `${BEFORE}.${identifier(`@g${at}`)} and ${after}`',
    replace: "return at < 0 ? 'false' : after",
    caughtBy: { file: 'test/access/writes', test: 'halves of two grants do not combine', database: 'embedded' },
  },
  {
    name: "the first caller's claims stay for all callers",
    file: 'src/http/context.ts',
    search: 'const caller = profile && callerOf(identity)',
    replace:
      'const caller = profile && ((globalThis as { planted?: ReturnType<typeof callerOf> }).planted ??= callerOf(identity))',
    caughtBy: {
      file: 'test/access/rows-and-fields',
      test: 'callers with the same roles and other claims',
      database: 'embedded',
    },
  },
  {
    name: '412 tells that a hidden record exists',
    file: 'src/db/records/store-records.ts',
    search: 'if (!only || (await sender.read(follow(statements.retrieve(bounds, id)))).rows.length === 0) return',
    replace: 'if (!only) return',
    caughtBy: {
      file: 'test/access/rows-and-fields',
      test: 'a hidden row is 404, as a missing one',
      database: 'embedded',
    },
  },
  {
    name: 'several records are deleted that no grant covers',
    file: 'src/db/statements/bulk-statements.ts',
    search: 'return ` and ${covered} returning',
    replace: 'return ` and (true or ${covered}) returning',
    caughtBy: { file: 'test/access/writes', test: '45: several records stay', database: 'embedded' },
  },
  {
    name: 'a dialect finds records by fields that they hide',
    file: 'src/http/granted-routes.ts',
    search: 'ownRoutes(profile.resource(original, operation))',
    replace: 'ownRoutes(original.spec.dialect ? original : profile.resource(original, operation))',
    caughtBy: {
      file: 'test/access/attacks-reads',
      test: 'no parameter asks about a hidden field',
      database: 'embedded',
    },
  },
  {
    name: 'an expansion shows related records that their own grants hide',
    file: 'src/access/restrict.ts',
    search: 'rows: visibleRule(reading),',
    replace: 'rows: undefined,',
    caughtBy: { file: 'test/access/attacks-reads', test: '35: a hidden related record is null', database: 'embedded' },
  },
  {
    name: 'a download has all records',
    file: 'src/http/context.ts',
    search: 'return exportList(exporting, { resource, plan, bounds }, form)',
    replace: 'return exportList(exporting, { resource, plan, bounds: bounds && undefined }, form)',
    caughtBy: {
      file: 'test/access/attacks-reads',
      test: 'has visible records and fields alone',
      database: 'embedded',
    },
  },
  {
    name: 'callers share their idempotency keys',
    file: 'src/http/context.ts',
    search: 'formatOwner(scopes, identity)',
    replace: 'formatOwner(scopes, undefined)',
    caughtBy: {
      file: 'test/access/attacks-writes',
      test: 'that another caller sends is a new request',
      database: 'embedded',
    },
  },
]
