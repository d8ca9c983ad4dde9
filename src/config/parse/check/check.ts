import { resolve } from 'node:path'
import type { Json } from '../../../foundation/json.js'
import { withAnswers } from '../answers-model.js'
import { draftAuth } from '../auth-draft.js'
import { buildSpec } from '../build/build.js'
import { checkAuthRules } from './check-auth-rules.js'
import { checkCors, checkProxies } from './check-api.js'
import { withKeys } from '../keys-model.js'
import { checkMessages } from './check-messages.js'
import { checkModels } from './check-models.js'
import { checkResources } from './check-resources.js'
import type { Diagnostic } from '../../diagnostic.js'
import type { ConfigDocument } from '../../yaml/document.js'
import { draftModels } from '../drafts.js'
import { createReport } from '../report.js'
import { checkShape } from '../../schema/shape.js'
import type { AppSpec } from '../../spec.js'
import type { ConfigYaml } from '../../schema/yaml-shape.js'

/**
 * Returns the checked configuration, with every default filled in, frozen; or all mistakes, in file order.
 * Values of the wrong shape are left out of the later checks, so that no error is only the consequence of another.
 */
export function checkConfig(document: ConfigDocument): AppSpec | Diagnostic[] {
  const report = createReport(document)
  checkShape(document.value, report)
  checkCors(document.value, report)
  checkProxies(document.value, report)
  const models = draftModels(document.value, report)
  checkModels(document.value, models, report)
  const auth = draftAuth(document.value)
  const buildRules = checkAuthRules(document.value, { auth, models }, report)
  const features = checkResources(document.value, { models, auth }, report)
  const diagnostics = report.diagnostics()
  if (diagnostics.length > 0) return diagnostics
  const given = document.value as unknown as ConfigYaml
  const value = withKeys(withAnswers(given))
  const drafts = value === given ? models : draftModels(value as unknown as Json, report)
  const spec = buildSpec(value, { drafts, features, buildRules }, resolve(document.file))
  checkMessages(spec, report)
  const misplaced = report.diagnostics()
  return misplaced.length > 0 ? misplaced : spec
}
