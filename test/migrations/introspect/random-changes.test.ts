import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type AdoptedProject, adopt, schemaOf, textOf, valuesOf } from '../../support/adopted-project.js'
import { type Change, type Config, makeChange, randomChange } from '../../support/random-changes.js'
import { ordinarySchema, type RandomSchema } from '../../support/random-schema.js'
import { settlePlan } from '../../support/settled-plan.js'

/** `npm run test:changes` sets 100. */
const CHANGES = Number(process.env['SNIPPETCTL_CHANGES'] ?? 2)

/** The time limit for shrinking a failing case. */
const SHRINKING_MS = 60_000

const changes = fc.array(fc.array(randomChange, { minLength: 1, maxLength: 2 }), { minLength: 2, maxLength: 4 })

/** A configuration without the settings that only the previous migration needed. */
function settled({ dropped: _, ...config }: Config): Config {
  const next = structuredClone(config)
  for (const model of Object.values(next.models)) {
    delete model.renamed_from
    delete model.dropped
    for (const field of Object.values(model.fields)) delete field['renamed_from']
  }
  return next
}

/** Makes the changes that `check` accepts, and returns their kinds. */
async function edit(project: AdoptedProject, batch: readonly Change[]): Promise<readonly string[]> {
  let config = settled(await project.readConfig())
  const kinds: string[] = []
  for (const change of batch) {
    const next = structuredClone(config)
    if (!makeChange(next, change)) continue
    await project.writeConfig(next)
    if ((await project.run('check')).code !== 0) continue
    config = next
    kinds.push(change.kind)
  }
  await project.writeConfig(config)
  return kinds
}

async function expectClean(project: AdoptedProject): Promise<void> {
  for (const command of [
    ['migrate', 'plan', '--exit-code'],
    ['check', '--database'],
    ['migrate', 'status'],
  ])
    await project.mustRun(...command)
}

/** No row is lost, and fields that kept their definition keep their values. */
async function expectKept(
  project: AdoptedProject,
  { config, values }: { readonly config: Config; readonly values: ReadonlyMap<string, string> },
): Promise<void> {
  const { models } = await project.readConfig()
  const after = await valuesOf(project)
  for (const [name, before] of values) {
    const [model = '', at] = name.split('.')
    const [was, is] = [config, { models }].map((each) => each.models[model])
    const isSame = at === undefined || JSON.stringify(was?.fields[at]) === JSON.stringify(is?.fields[at])
    if (is && isSame && after.get(name) !== before) project.fail(`${name} changed`, `${before} -> ${after.get(name)}`)
  }
}

/** Reverts the new migrations and applies them again. */
async function revert(project: AdoptedProject, files: readonly string[], schema: string): Promise<void> {
  for (const _ of files) {
    const down = await project.run('migrate', 'down')
    const isLossy = down.code === 3
    // Rows of the new schema may not fit the former schema.
    if (/has no down part|do not fit the former schema/.test(textOf(down))) return project.mustRun('migrate', 'up')
    if (down.code !== 0 && !isLossy) project.fail('migrate down', down)
    if (isLossy) await project.mustRun('migrate', 'down')
  }
  const back = await schemaOf(project)
  const onlyIn = (one: string, other: string) => one.split('\n').filter((line) => !other.split('\n').includes(line))
  if (back !== schema)
    project.fail(
      'migrate down leaves another schema',
      [...onlyIn(schema, back), 'became', ...onlyIn(back, schema)].join('\n'),
    )
  await project.mustRun('migrate', 'up')
  await project.mustRun('migrate', 'plan', '--exit-code')
}

/** Makes changes, plans and applies them. Returns whether there was a migration. */
async function change(project: AdoptedProject, batch: readonly Change[]): Promise<boolean> {
  const [config, values, schema] = [await project.readConfig(), await valuesOf(project), await schemaOf(project)]
  const kinds = await edit(project, batch)
  const files = await project.migrations()
  const plan = kinds.length > 0 ? await settlePlan(project, kinds.join('_').toLowerCase()) : undefined
  const undo = async (): Promise<boolean> => {
    await project.writeConfig(settled(config))
    return false
  }
  if (!plan) return undo()
  const written = (await project.migrations()).slice(files.length)
  if (plan.converts) {
    const up = await project.run('migrate', 'up')
    if (/do not fit the migration/.test(up.stderr)) {
      await project.removeMigrations(written.filter((name) => !name.endsWith('_by_hand.sql')))
      return undo()
    }
  }
  await project.mustRun('migrate', 'up')
  await expectClean(project)
  if (!plan.converts) await expectKept(project, { config, values })
  await project.serve()
  const byHand = written.some((name) => name.endsWith('_by_hand.sql'))
  if (written.length > 0 && !byHand) await revert(project, written, schema)
  return written.length > 0
}

test(
  'tables that were taken over can be changed: each plan leads to the schema of the file, keeps the rows, and can be reverted',
  async () => {
    let made = 0
    let end = Infinity
    const runCase = async (schema: RandomSchema, batches: readonly (readonly Change[])[]) => {
      if (Date.now() > end) return
      const project = await adopt(schema)
      try {
        if (project) for (const batch of batches) if (await change(project, batch)) made += 1
      } finally {
        await project?.remove()
      }
    }
    const property = fc.asyncProperty(ordinarySchema, changes, (schema, batches) =>
      runCase(schema, batches).catch((error: unknown) => {
        end = Math.min(end, Date.now() + SHRINKING_MS)
        throw error
      }),
    )
    await fc.assert(property, { numRuns: CHANGES })
    expect(made).toBeGreaterThan(CHANGES / 4)
  },
  CHANGES * 60_000 + 2 * SHRINKING_MS,
)
