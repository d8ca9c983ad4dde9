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
    file: 'src/db/statements/lists/list-statements.ts',
    search: "size === undefined ? '' : ` limit ${size} + 1`",
    replace: "''",
    caughtBy: { file: 'test/db/statements/statements', test: 'rows, one more than it shows', database: 'local' },
  },
  {
    name: 'a write with an unknown outcome is retried',
    file: 'src/db/pool/pooled-queries.ts',
    search: '(statement.retry && isLost(error))',
    replace: 'isLost(error)',
    caughtBy: { file: 'test/db/database-recovery', test: 'never repeats a write', database: 'local' },
  },
  {
    name: 'a lone surrogate is stored as another character',
    file: 'src/fields/spelling/formats.ts',
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
    caughtBy: { file: 'test/db/driver/database-errors', test: 'the driver says only', database: 'local' },
  },
  {
    name: 'a connection that timed out is reused',
    file: 'src/db/pool/send-once.ts',
    search: 'client.release(isSpent)',
    replace: 'client.release(isSpent && error === null)',
    caughtBy: { file: 'test/db/database-recovery', test: 'freezes', database: 'local' },
  },
  {
    name: 'messages of the driver reach the client',
    file: 'src/db/driver/errors.ts',
    search: 'errors[0]?.message ?? detail',
    replace: 'errors[0]?.message ?? `${detail}: ${cause.message}`',
    caughtBy: {
      file: 'test/db/driver/database-errors',
      test: 'never mentions tables, constraints or SQL',
      database: 'local',
    },
  },
  {
    name: 'a double slash matches a route',
    file: 'src/http/route-table.ts',
    search: '    segments.push(path.slice(from, at))',
    replace: '    if (at > from) segments.push(path.slice(from, at))',
    caughtBy: { file: 'test/http/server/http-protocol', test: '/api/books/7//', database: 'local' },
  },
  {
    name: 'an unknown parameter is ignored',
    file: 'src/resource/lists/list.ts',
    search: "if (spec.unknownQuery === 'refuse') {",
    replace: "if (spec.unknownQuery === 'refuse' && spec.name === '') {",
    caughtBy: { file: 'test/resource/list-parameters', test: 'foo=1', database: 'local' },
  },
  {
    name: 'a body may be nested without a limit',
    file: 'src/foundation/json-scanner.ts',
    search: 'if (cursor.depth > DEPTH)',
    replace: 'if (cursor.depth > 1e9)',
    caughtBy: { file: 'test/http/server/json-bodies', test: '40,000 levels', database: 'local' },
  },
  {
    name: 'two processes may open one embedded database',
    file: 'src/db/embedded/lock.ts',
    search: '    takeLock(path, { directory, pipe: pipe ? basename(pipe.path) : null })',
    replace: '    void takeLock',
    caughtBy: { file: 'test/db/embedded/database-lock', test: 'only one process at a time', database: 'embedded' },
  },
  {
    name: 'clients may write private fields',
    file: 'src/config/model-spec.ts',
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
    search:
      '      if (isHidden(resource, item)) return { status: 201, headers: Location === undefined ? {} : { Location } }',
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
    caughtBy: { file: 'test/cli/serve/cli-serve-outage', test: 'serializable', database: 'local' },
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
    file: 'src/http/headers/entity-tags.ts',
    search: `"([!#-~\\x80-\\xff]*)"[ \\t]*)?(,|$)`,
    replace: `"([!#-~\\x80-\\xff]*)")?[ \\t]*(,|$)`,
    caughtBy: { file: 'test/http/linear-time-input', test: 'all take linear time', database: 'embedded' },
  },
  {
    name: 'all pipelined requests of a connection are processed at once',
    file: 'src/http/connections/pipeline.ts',
    search: 'underWay.length < limits.inProgress && pipelined < limits.pipelined && unread < MAX_UNREAD',
    replace: 'underWay.length < 1_000 * limits.inProgress && unread < MAX_UNREAD',
    caughtBy: { file: 'test/http/connections/pipelined-requests', test: 'has eight', database: 'local' },
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
    caughtBy: { file: 'test/http/connections/slow-readers', test: 'further lists wait', database: 'local' },
  },
  {
    name: 'all large lists are read at once',
    file: 'src/http/connections/large-reads.ts',
    search: `    else await wait()`,
    replace: `    else void wait()`,
    caughtBy: { file: 'test/http/connections/large-reads', test: 'one after another', database: 'local' },
  },
  {
    name: 'large lists do not give way to other requests',
    file: 'src/http/connections/large-reads.ts',
    search: `else beginNextIn(pauseAfter(bytes, performance.now() - began))`,
    replace: `else beginNextIn(0 * pauseAfter(bytes, performance.now() - began))`,
    caughtBy: { file: 'test/http/connections/large-reads', test: 'in proportion to the size', database: 'local' },
  },
  {
    name: 'changes of one locked row take every connection',
    file: 'src/db/pool/shares.ts',
    search: `      if (parent && queue.held > 0) return false
`,
    replace: '',
    caughtBy: { file: 'test/db/pool/connection-sharing', test: 'for a locked row', database: 'local' },
  },
  {
    name: 'prepared statements outlive a change of their columns',
    file: 'src/db/statements/prepared-statements.ts',
    search: 'generation === 0 ? entry.hash',
    replace: 'generation >= 0 ? entry.hash',
    caughtBy: { file: 'test/db/statements/prepared-statements', test: 'after columns were altered', database: 'local' },
  },
  {
    name: 'a later migration stops an older version',
    file: 'src/migrations/files/journal.ts',
    search: "isWhole && numberOf(name) > last ? 'newer'",
    replace: "isWhole && numberOf(name) < last ? 'newer'",
    caughtBy: { file: 'test/migrations/run/older-version', test: 'serves if everything', database: 'local' },
  },
  {
    name: 'rows created by migrations prevent copying a database',
    file: 'src/db/records/copy.ts',
    search: "'where xmin::text not in (select xmin::text from snippetctl_migrations)'",
    replace: "''",
    caughtBy: {
      file: 'test/cli/database/db-copy',
      test: 'replaces the rows that migrations created',
      database: 'local',
    },
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
    file: 'cli/project/template/template-deploy.ts',
    search: `!migrations
!plugins
`,
    replace: `!migrations
`,
    caughtBy: { file: 'test/cli/project/new-project-deploys', test: 'is built by working steps', database: 'embedded' },
  },
  {
    name: '.env overrides the environment',
    file: 'cli/env-file.ts',
    search: `      if (Object.hasOwn(env, name)) continue
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
    caughtBy: { file: 'test/cli/serve/cli-serve-log', test: 'no text of a client', database: 'embedded' },
  },
  {
    name: 'an object is adopted with SQL that does not create it',
    file: 'src/migrations/introspect/adopt.ts',
    search: 'return (error.cause as Error).message',
    replace: 'return undefined',
    caughtBy: { file: 'test/migrations/introspect/adopted-objects', test: 'a domain', database: 'local' },
  },
  {
    name: 'reverting an adoption drops the adopted object',
    file: 'src/migrations/consent/losses-of-files.ts',
    search: "return part === 'up' ? losses : [...losses, ...adoptedIn(files, losses)]",
    replace: `adoptedIn(files, part === 'up' ? [] : losses)
  return losses`,
    caughtBy: {
      file: 'test/migrations/introspect/adopted-objects',
      test: 'reverting an adoption drops',
      database: 'local',
    },
  },
  {
    name: 'hand-made constraints count as constraints of the configuration',
    file: 'src/migrations/plan/compare/pair.ts',
    search: 'owns.unrecorded.has(constraint.name) &&',
    replace: 'owns !== undefined &&',
    caughtBy: {
      file: 'test/migrations/plan/hand-made-objects',
      test: 'after a migration that states',
      database: 'local',
    },
  },
  {
    name: 'an embedded database opens without its extensions',
    file: 'src/db/embedded/pglite.ts',
    search: 'await loadInstalled(pglite)',
    replace: 'void loadInstalled',
    caughtBy: { file: 'test/db/embedded/extensions', test: 'applied, compared', database: 'embedded' },
  },
  {
    name: 'a plan is verified on the rows that migrations created',
    file: 'src/migrations/plan/prove/prove.ts',
    search: `  await emptyTables(session, claim.from)
`,
    replace: `  void emptyTables
`,
    caughtBy: {
      file: 'test/migrations/plan/plan-after-data-migration',
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
      file: 'test/db/records/values-too-long-for-an-index',
      test: 'is rejected by the name of each field',
      database: 'local',
    },
  },
  {
    name: 'a conflict names a private field',
    file: 'src/db/records/guards.ts',
    search: 'guarded.some((field) => field.private) ? [] : ',
    replace: '',
    caughtBy: { file: 'test/db/records/unique-combinations', test: 'without naming any field', database: 'local' },
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
    caughtBy: { file: 'test/db/driver/write-outcomes', test: 'its outcome is unknown', database: 'local' },
  },
  {
    name: 'a request gets 504 while its write continues',
    file: 'src/http/connections/deadlines.ts',
    search: '    if (exchange.writes > 0) return\n',
    replace: '',
    caughtBy: { file: 'test/http/connections/request-deadlines', test: 'only statement', database: 'local' },
  },
  {
    name: 'a handler writes after the response',
    file: 'src/http/outcomes.ts',
    search: 'const { expired, overdue, ending } = exchange',
    replace: 'const { expired, overdue, ending } = { ...exchange, expired: false, overdue: false }',
    caughtBy: { file: 'test/http/connections/request-deadlines', test: 'cannot write any more', database: 'local' },
  },
  {
    name: 'rare statements evict frequent ones',
    file: 'src/db/statements/prepared-statements.ts',
    search: 'if (entry.uses <= 1) {',
    replace: 'if (entry.uses >= 0) {',
    caughtBy: { file: 'test/db/statements/prepared-statements', test: 'again and again', database: 'local' },
  },
  {
    name: 'every host is accepted on loopback',
    file: 'src/http/headers/hosts.ts',
    search: '? isLocalName(name) :',
    replace: '? isLocalName(name) || hosts.length === 0 :',
    caughtBy: { file: 'test/http/headers/cross-site-requests', test: 'is rejected on loopback', database: 'local' },
  },
  {
    name: 'pages of other sites may write',
    file: 'src/http/headers/origin-check.ts',
    search: "site === 'cross-site'",
    replace: "site === 'cross-sites'",
    caughtBy: { file: 'test/http/headers/cross-site-requests', test: 'writes nothing', database: 'local' },
  },
  {
    name: 'a body of many records has no limit',
    file: 'src/resource/bodies/body-limit.ts',
    search: 'return Math.min(most, Math.max(MIN_LIMIT, records * longestRecord(fields)))',
    replace: 'return Math.max(MIN_LIMIT, most > 0 ? records * longestRecord(fields) : 0)',
    caughtBy: { file: 'test/http/server/body-limits', test: 'above the configured limit', database: 'local' },
  },
  {
    name: 'any client may set the public URL',
    file: 'src/http/headers/public-url.ts',
    search: 'const said = isTrusted(remoteAddress) ?',
    replace: "const said = isTrusted(remoteAddress) || remoteAddress !== '' ?",
    caughtBy: { file: 'test/http/headers/public-url', test: 'are paths, whatever a client sends', database: 'local' },
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
    caughtBy: { file: 'test/migrations/introspect/adopted-objects', test: 'a different default', database: 'local' },
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
      file: 'test/db/driver/constraint-messages',
      test: 'gets the message of the model',
      database: 'local',
    },
  },
  {
    name: "nulls have PostgreSQL's default position",
    file: 'src/db/statements/lists/page-rows.ts',
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
    file: 'src/db/statements/lists/page-rows.ts',
    search: "first?.nulls === undefined || limit === ''",
    replace: "first?.nulls === undefined || limit !== ''",
    caughtBy: { file: 'test/pagination/null-ordering', test: 'is read from an ascending index', database: 'local' },
  },
  {
    name: 'all clients together may pipeline without a limit',
    file: 'src/http/connections/pipeline.ts',
    search: 'if (underWay.length > 1) pipelined',
    replace: 'if (underWay.length > 1_000) pipelined',
    caughtBy: { file: 'test/http/connections/pipelined-requests', test: 'have sixty-four', database: 'embedded' },
  },
  {
    name: 'filters find records by a field that they hide',
    file: 'src/db/statements/lists/where.ts',
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
    file: 'src/db/statements/rules/granted-changes.ts',
    search: 'return `${BEFORE}.${grantMark(at)} and ${after}`',
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
    name: '412 reveals that a hidden record exists',
    file: 'src/db/records/rejected-changes.ts',
    search: 'if (only && (await isSeen()) && !(await isSeen(only)))',
    replace: 'if (only && !(await isSeen(only)))',
    caughtBy: {
      file: 'test/access/rows-and-fields',
      test: 'a hidden row is 404, as a missing one',
      database: 'embedded',
    },
  },
  {
    name: 'a bulk deletion removes records that no grant covers',
    file: 'src/db/statements/bulk-statements.ts',
    search: '` and ${coversStored(model, granted.access.destroy, { ...granted, params })}`',
    replace: '` and (true or ${coversStored(model, granted.access.destroy, { ...granted, params })})`',
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
    name: 'a download ignores grants',
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
    file: 'src/http/transact.ts',
    search: 'formatOwner(state.scopes, identity)',
    replace: 'formatOwner(state.scopes, undefined)',
    caughtBy: {
      file: 'test/access/attacks-writes',
      test: 'that another caller sends is a new request',
      database: 'embedded',
    },
  },
  {
    name: 'a change reveals that a hidden value was guessed',
    file: 'src/db/statements/rules/covering-sql.ts',
    search: 'return seen === undefined ? same : `(${same} and ${ruleSql(seen, owner, asking)})`',
    replace: "return seen === undefined || true ? same : ''",
    caughtBy: { file: 'test/access/attacks-hidden-values', test: 'tells nothing of its value', database: 'embedded' },
  },
  {
    name: 'cursors contain a hidden key',
    file: 'src/features/pagination.ts',
    search: 'model.key.every(({ name }) => always(name)),',
    replace: 'model.key.every(({ name }) => always(name) || true),',
    caughtBy: { file: 'test/access/attacks-hidden-values', test: 'is not in the links of', database: 'embedded' },
  },
  {
    name: 'a dialect orders by a hidden key',
    file: 'src/resource/lists/dialect-list.ts',
    search: 'const key = pagination.keyed ?',
    replace: 'const key = pagination.keyed || model.key.length > 0 ?',
    caughtBy: { file: 'test/access/attacks-hidden-values', test: 'cannot be asked about', database: 'embedded' },
  },
  {
    name: 'queries of plugins filter through hidden related records',
    file: 'src/resource/lists/limited-plans.ts',
    search: 'related: relatedOf.get(name) ?? reject(`filter records by ${quote(name)}`)',
    replace: 'related: relatedOf.get(name) ?? condition.related',
    caughtBy: { file: 'test/access/other-routes', test: 'cannot ask about hidden values', database: 'embedded' },
  },
  {
    name: 'an action runs on records that its grant does not cover',
    file: 'src/db/records/store-records.ts',
    search: 'return (await coveringOf(granted, grants, id)).length > 0',
    replace: 'return (await coveringOf(granted, grants, id)).length >= 0',
    caughtBy: {
      file: 'test/access/other-routes',
      test: 'need a grant whose rows cover the record',
      database: 'embedded',
    },
  },
  {
    name: 'hooks run for changes that no grant covers',
    file: 'src/http/middleware/hooks.ts',
    search: 'if (!(await context.store(resource).mayRun(operation, id))) throw notGranted()',
    replace: "if (operation === '') throw notGranted()",
    caughtBy: { file: 'test/access/other-routes', test: 'do not run: ', database: 'embedded' },
  },
  {
    name: 'a record that its writer may not see has computed fields',
    file: 'src/db/statements/projections.ts',
    search: "if (cells[0] == null) return 'null'",
    replace: 'if (cells[0] == null) return `{${members.map((member) => member(cells)).join()}}`',
    caughtBy: {
      file: 'test/access/attacks-hidden-values',
      test: '37: a record that its writer may not see',
      database: 'embedded',
    },
  },
  {
    name: 'a conflict names hidden fields',
    file: 'src/db/records/compile-store.ts',
    search: 'isHidden: hiddenFrom(resource),',
    replace: 'isHidden: undefined,',
    caughtBy: { file: 'test/access/attacks-hidden-values', test: 'names no hidden field', database: 'embedded' },
  },
  {
    name: 'a page names lists that its caller may not see',
    file: 'src/explore/records/referrers.ts',
    search: "    if (!may('list')) return []\n    const shown = seen.shown.map(({ name }) => name)",
    replace:
      "    if (!may('list') && !may('create')) return []\n    const shown = [seen, other].flatMap((each) => each.shown.map(({ name }) => name))",
    caughtBy: { file: 'test/access/attacks-hidden-values', test: '52: a page names no list', database: 'embedded' },
  },
  {
    name: 'a relation tells values of a hidden field',
    file: 'src/access/profiles.ts',
    search: 'target.isKey ? []',
    replace: 'target.isKey || target.managed ? []',
    caughtBy: { file: 'test/access/attacks-hidden-values', test: 'tells nothing of its values', database: 'embedded' },
  },
  {
    name: 'a write that one grant does not cover fails its transaction',
    file: 'src/db/driver/savepoints.ts',
    search: '      await send({ text: `rollback to savepoint ${name}`, values: [] })\n',
    replace: '',
    caughtBy: { file: 'test/access/writes', test: 'to a new record at', database: 'embedded' },
  },
  {
    name: 'a change without fields needs no grant',
    file: 'src/db/records/store-records.ts',
    search: '          await rejectUncovered(bounds, written, row)\n          const',
    replace: '          const',
    caughtBy: {
      file: 'test/access/writes',
      test: 'no field is 403 if no grant covers the record',
      database: 'embedded',
    },
  },
  {
    name: 'a credential that is wrong counts as none',
    file: 'src/auth/authenticate.ts',
    search: 'if (identity === undefined && authorization !== undefined)',
    replace: "if (identity === undefined && authorization === '')",
    caughtBy: { file: 'test/auth/every-route', test: 'with a credential that is wrong is 401', database: 'embedded' },
  },
  {
    name: 'a write that one grant does not cover undoes other statements',
    file: 'src/db/driver/savepoints.ts',
    search:
      '    // A failed attempt would also undo statements that run in the meantime.\n    while (attempting) await attempting\n',
    replace: '',
    caughtBy: { file: 'test/access/writes', test: 'created at the same time in one transaction', database: 'embedded' },
  },
]
