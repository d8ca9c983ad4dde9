/** Holds the OpenAPI documents of some configurations against the rules of Spectral and Redocly; any finding fails. */
import { createConfig, lintFromString } from '@redocly/openapi-core'
import spectralCore from '@stoplight/spectral-core'
import spectralRulesets from '@stoplight/spectral-rulesets'
import { loadApplication, OPENAPI_VERSIONS, renderOpenApi } from '../dist/src/internal.js'

const CONFIGURATIONS =
  process.argv.length > 2 ? process.argv.slice(2) : ['resources.yaml', 'test/applications/library.yaml']

/**
 * What is not asked of our documents: canonical URLs end with a slash, and OpenAPI itself says that a plain path is matched before one with
 * a parameter in the same place.
 */
const NOT_OURS = { 'no-path-trailing-slash': 'off', 'no-ambiguous-paths': 'off' }

const spectral = new spectralCore.Spectral()
spectral.setRuleset({
  extends: [[spectralRulesets.oas, 'recommended']],
  rules: { 'path-keys-no-trailing-slash': 'off' },
})

async function findingsOf(source, name) {
  const found = await spectral.run(source)
  const fromSpectral = found.map(({ code, message, path }) => `${name} spectral ${code} ${path.join('.')}: ${message}`)
  const fromRedocly = []
  for (const ruleset of ['recommended', 'recommended-strict']) {
    const config = await createConfig({ extends: [ruleset], rules: NOT_OURS })
    const problems = await lintFromString({ source, absoluteRef: `/${name}.json`, config })
    fromRedocly.push(
      ...problems.map(
        ({ ruleId, message, location }) => `${name} ${ruleset} ${ruleId} ${location[0]?.pointer}: ${message}`,
      ),
    )
  }
  return [...fromSpectral, ...fromRedocly]
}

let findings = 0
for (const file of CONFIGURATIONS) {
  const loaded = await loadApplication({ file, env: process.env })
  if (!loaded.ok) throw new Error(`${file} is not in order: ${loaded.diagnostics.map(({ message }) => message)}`)
  for (const version of OPENAPI_VERSIONS) {
    for (const finding of await findingsOf(renderOpenApi(loaded.app, version), `${file} ${version}`)) {
      console.log(finding)
      findings += 1
    }
  }
}
console.log(`${findings} findings`)
process.exitCode = findings === 0 ? 0 : 1
