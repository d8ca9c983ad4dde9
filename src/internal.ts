/** What the command line, the generated documentation and our own tests import. `package.json` does not export it; plugins have `index.ts`. */
export type { App } from './application.js'
export { decide } from './access/decide/decide.js'
export { cannotRetrieve, explainGrants, type EvaluatedGrant } from './access/explain-grants.js'
export { kindOf } from './access/decide/compare.js'
export { sourceOfText, textOfSent } from './access/example-values.js'
export { callerFor, exampleCallers, exampleValues, nearTo, rulesOf, towards } from './access/examples.js'
export {
  type EvaluatedCondition,
  type EvaluatedRule,
  evaluateRule,
  type StoredRecord,
} from './access/decide/evaluate.js'
export { accessMatrix, type MatrixGrant } from './access/matrix.js'
export {
  type AccessRequest,
  type Caller,
  findRecord,
  grantsOf,
  knownBy,
  type Situation,
} from './access/decide/situation.js'
export { formatCondition, formatName } from './access/format.js'
export { findWidened } from './access/wider.js'
export type { Widened } from './access/widened.js'
export { keyId, makeKey } from './auth/api-keys.js'
export { typedClaims } from './auth/claims.js'
export { MAX_TOKEN_LENGTH, verifyToken } from './auth/jwt.js'
export { fileKeysOf, readKeyFile } from './auth/key-file.js'
export {
  isSigningKey,
  keysOf,
  makeIssuerKey,
  type SigningKey,
  signToken,
  type TokenCaller,
  type TokenTerms,
} from './auth/local-issuer.js'
export { isSubject } from './auth/claims.js'
export { isRounded, withoutTrailingZeros } from './fields/spelling/json-text.js'
export {
  isList,
  isMembers,
  type Members,
  readExact,
  textOf as formatExact,
} from './explore/records/exact-json.js'
export { checkConfig } from './config/parse/check/check.js'
export { onOneLine } from './migrations/introspect/render-models.js'
export { declareField } from './migrations/introspect/choose/declare-field.js'
export { declareResource, formatResource, type UndeclaredResource } from './config/edit/add-resource.js'
export { declareRename } from './config/edit/add-rename.js'
export { isFieldName } from './config/schema/parts.js'
export { configSchema } from './config/schema/schema.js'
export { type Diagnostic, DIAGNOSTICS, renderDiagnostics, type Style, toGithub, toJson } from './config/diagnostic.js'
export { type ConfigDocument, readConfig } from './config/yaml/document.js'
export { type AppSpec, isUnmanaged, type ModelSpec, type ResourceSpec } from './config/spec.js'
export { inDependencyOrder } from './foundation/dependency-order.js'
export { cutToWidth, displayWidth } from './foundation/display-width.js'
export { shellWord } from './foundation/shell-word.js'
export { removeAtExit } from './foundation/remove-at-exit.js'
export { createWhole, isStandardOutput, naming, targetOf, writeWhole } from './foundation/write-whole.js'
export { identifier, literal } from './fields/sql-literal.js'
export { tableSql } from './fields/table-name.js'
export { describeTables } from './migrations/plan/described-tables.js'
export { createAll, createSchemas } from './migrations/plan/sql.js'
export { createViews, wantedViews } from './migrations/plan/views.js'
export { prepareCollations } from './migrations/plan/wanted-collations.js'
export { nearestWord } from './config/schema/synonyms.js'
export { article } from './config/words.js'
export { readForDecision } from './data/stored-records.js'
export { dump, DUMP_FORMATS, type DumpFormatName } from './data/dump.js'
export { DATA_FORMATS } from './data/file.js'
export { type DataError, UnreadableData } from './data/record.js'
export { modelOf, seed, type SeedCounts, type Seeded } from './data/seed.js'
export { compileStoredKeys, type StoredKey, type StoredKeys } from './db/records/stored-keys.js'
export { copyRecords, CopyRejected } from './db/records/copy.js'
export { RESTORE_STAGES, restoreEmbedded } from './db/embedded/backup.js'
export { finishRestore } from './db/embedded/temporary.js'
export { type Database, DatabaseInUse, DatabaseRejected } from './db/database.js'
export { isConnectionLost, isMismatch, lacksPrivilege } from './db/driver/errors.js'
export { type Explanation, explainRead, type Read } from './db/statements/explain.js'
export { type DatabaseChoice, openCopy, openDatabase, openScratch, moveAside } from './db/open.js'
export { expectBriefWork } from './db/embedded/pglite.js'
export { withParts, wrapDatabase } from './db/wrap.js'
export type { Access, PlanStep } from './db/statements/plan-tree.js'
export { FIELD_TYPES } from './fields/index.js'
export { openAdmin } from './health/admin.js'
export { addMetrics, lastingMetrics, type Metrics } from './health/metrics.js'
export { createMonitor, type Monitor } from './health/monitor.js'
export { DRAINING, type Readiness } from './health/readiness.js'
export { findTracing } from './health/tracing.js'
export { urlOf } from './http/server/listen.js'
export { resourceAt, type Route } from './http/route.js'
export { encodeSegment } from './resource/keys/path-segment.js'
export { parseSegment } from './resource/keys/record-key.js'
export type { Json, JsonSchema } from './foundation/json.js'
export { type LoadedApplication, type LoadedSpec, loadApplication, loadSpec } from './load.js'
export { type IndexFindings, indexDifferences } from './migrations/drift/index-differences.js'
export { declaredIndexDifferences } from './migrations/drift/declared-indexes.js'
export { defaultDifferences } from './migrations/drift/default-differences.js'
export { messageDifferences } from './migrations/drift/message-differences.js'
export { unmanagedTableDifferences } from './migrations/drift/unmanaged-tables.js'
export { adoptDrift } from './migrations/introspect/adopt.js'
export { ConsentNeeded, describeLoss, objectsOf } from './migrations/consent/loss.js'
export { readDrift } from './migrations/drift/drift.js'
export type { Drift } from './migrations/drift/drifted-object.js'
export { endsWithin } from './http/connections/ends-within.js'
export { featureResponses } from './features/index.js'
export { isReading, OPERATIONS } from './config/core-spec.js'
export type { ChosenModel } from './migrations/introspect/choose/choose.js'
export {
  INTROSPECT_STAGES,
  type Introspected,
  introspect,
  writeIntrospected,
} from './migrations/introspect/introspect.js'
export { MigrationError } from './migrations/files/error.js'
export { type CountedPlan, type CountedStep, countRows, wantsRows } from './migrations/plan/prove/row-counts.js'
export { rejectObstacles } from './migrations/plan/prove/live-obstacles.js'
export { noteStorage } from './migrations/plan/lost-storage.js'
export { noteFunctions } from './migrations/plan/stale-functions.js'
export type { Swap } from './migrations/plan/steps/swaps.js'
export type { GivenConversion } from './migrations/plan/steps/type-change.js'
export { openResultStore } from './migrations/run/result-store.js'
export { applyGrowth, canGrow, type Growth, planGrowth } from './migrations/run/grow.js'
export { planAdditions, wantSameTables } from './migrations/plan/additions.js'
export {
  type FindLarge,
  type Plan as MigrationPlan,
  planMigration,
  writeMigration,
} from './migrations/plan/generate.js'
export { digestMadeRows } from './migrations/run/made-rows.js'
export { type Diagnosis, diagnoseJournal, resolveJournal } from './migrations/run/resolve.js'
export type { Resolution } from './migrations/run/verify-resolution.js'
export { squash } from './migrations/run/squash.js'
export { renumber } from './migrations/run/renumber.js'
export { sumOf as sumOfWaits } from './migrations/locks/locks.js'
export { isBlocking, lockMeaning } from './migrations/locks/modes.js'
export { type HeldLock, measureMigration } from './migrations/run/measure.js'
export { largeTables } from './migrations/plan/steps/online.js'
export { type Blocker, describeBlocker, type MigrationProgress } from './migrations/run/watch.js'
export { describeNewer, type MigrationStatus, newerIn, recordedChecksum } from './migrations/files/journal.js'
export {
  type CompletedMigration,
  migrateDown,
  migrateUp,
  migrationStatus,
} from './migrations/run/run.js'
export type { Step as MigrationStep } from './migrations/files/steps.js'
export { type Migration, type MigrationFolder, readMigrations } from './migrations/files/files.js'
export { missingRights } from './migrations/drift/rights.js'
export type { SchemaDifference } from './migrations/drift/unmanaged-differences.js'
export { differencesFromLater, findSchemaDifferences, schemaDifferences } from './migrations/drift/verify.js'
export { OPENAPI_VERSIONS, type OpenApiVersion, renderOpenApi } from './openapi/serve.js'
export { pluginFiles } from './plugins/load.js'
export { migrationFolder } from './plugins/migration-folder.js'
export { PluginProblem as Problem, PROBLEMS } from './foundation/problem.js'
export type { Resource } from './resource/resource.js'
export { hasSwaggerUi } from './explore/swagger-ui.js'
export { createService, type Service } from './service.js'
export { renderTypes } from './types/render.js'
