import { literal, identifier } from '../../src/fields/sql-literal.js'
import { type AdoptedProject, textOf } from './adopted-project.js'
import { wordsOf } from './follow-help.js'
import { columnOf, tableOf } from './random-changes.js'

/** Help that leaves a decision to the user. The tests then undo the change. */
const LEFT = [
  /write (?:the|a) migration by hand/,
  /change these rows first/,
  /correct these rows, or the expression after --using/,
  /give the field a `default`, make it `nullable`, or fill it by a migration of your own/,
  /keep its definition \(/,
  /drop it in a migration by hand, and create it again without `<` and `>`/,
  /PostgreSQL rejects the view of the model/,
]

/** Follows the help of a rejection. Returns options for the next plan; undefined if the help cannot be followed for these rows. */
type Follow = (match: readonly string[], project: AdoptedProject) => Promise<readonly string[] | undefined>

const FOLLOWED: readonly (readonly [RegExp, Follow])[] = [
  [/(--using '(?:[^']|'\\'')*')/, ([option = ''], project) => convert(option, project)],
  [/drop it in a migration by hand, (?:and )?plan again[^:]*: (.*)/, ([sql = ''], project) => migrate(sql, project)],
  [/fill them first: (update .* set (.*) = )… where (.*)/, fill],
  [
    /one of these lines settles it.*?in the field `\w+` of the model `\w+`.*?dropped: \[(.*?)\] +in the model `(\w+)`/s,
    ([column = '', model = ''], project) =>
      drop(JSON.parse(column.startsWith('"') ? column : `"${column}"`) as string, { model, project }),
  ],
  [
    /write (?:`type: choice` and )?`choices: \[(.*)\]` in the field `(\w+)` of the model `(\w+)`/,
    async ([choices = '', at = '', model = ''], project) => {
      const config = await project.readConfig()
      const field = config.models[model]?.fields[at]
      const values = choices.split(', ').map((each) => (each.startsWith('"') ? (JSON.parse(each) as string) : each))
      if (field) Object.assign(field, { type: 'choice', choices: values })
      await project.writeConfig(config)
      return []
    },
  ],
]

/** Rejections with their indented lines, and lines of help. */
const REJECTION = /^ {2}! rejected {2}(.*(?:\n {4}\S.*)*)|^ {2}= help: (.*)/gm

/** The result of planning: whether the plan needed a conversion that may change values. */
interface Settled {
  readonly converts: boolean
}

/** Plans and follows the help until a migration is written or there is nothing to migrate. Returns undefined if the help leaves a decision to the user. */
export async function settlePlan(project: AdoptedProject, name: string): Promise<Settled | undefined> {
  const options: string[] = []
  const seen = new Set<string>()
  for (;;) {
    const plan = await project.run('migrate', 'plan', '--write', name, ...options)
    const text = textOf(plan)
    if (plan.code === 0 || text.includes('there is nothing to migrate')) return { converts: options.length > 0 }
    if (seen.has(text)) return project.fail('the help leads back to itself', plan)
    seen.add(text)
    const found = [...text.matchAll(REJECTION)].map(([all]) => all)
    const ways = found.flatMap((each) => {
      const way = FOLLOWED.map(([pattern, follow]) => [pattern.exec(each), follow] as const).find(([match]) => match)
      return way ? [way] : []
    })
    const left = ways.length === 0 || found.some((each) => LEFT.some((pattern) => pattern.test(each)))
    if (left && LEFT.some((pattern) => pattern.test(text))) return undefined
    if (left) return project.fail('no help to follow', plan)
    for (const [match, follow] of ways) {
      const more = await follow(match?.slice(1) ?? [], project)
      if (more === undefined) return undefined
      options.push(...more)
    }
  }
}

async function migrate(sql: string, project: AdoptedProject): Promise<readonly string[]> {
  await project.writeMigration(`-- up\n${sql};\n`)
  await project.mustRun('migrate', 'up')
  return []
}

/** If the help has no expression, turns removed choices into the first choice. */
async function convert(option: string, project: AdoptedProject): Promise<readonly string[] | undefined> {
  const words = wordsOf(option)
  const [using, word = ''] = words
  if (!word.endsWith('=…')) return words
  const { models } = await project.readConfig()
  const fields = Object.entries(models).flatMap(([name, model]) =>
    Object.entries(model.fields).map(([at, field]) => ({
      place: `${tableOf(name, model)}.${columnOf(at, field)}`,
      at,
      field,
    })),
  )
  const found = fields.find(({ place }) => word === `${place}=…`)
  const [first, ...others] = found?.field.choices ?? []
  if (!found || !using || first === undefined) return undefined
  const value = `${identifier(columnOf(found.at, found.field))}::text`
  const choices = [first, ...others].map(literal).join(', ')
  return [using, word.replace('…', `case when ${value} in (${choices}) then ${value} else ${literal(first)} end`)]
}

/** Fills a column with one of its values. */
async function fill(
  [update = '', column = '', where = '']: readonly string[],
  project: AdoptedProject,
): Promise<readonly string[] | undefined> {
  const [, table = ''] = /^update (.*) set /.exec(update) ?? []
  const value = `(select ${column} from ${table} where ${column} is not null limit 1)`
  return project.onDatabase(async (database) => {
    const { rows } = await database.query({
      text: `select count(*) from ${table} where ${column} is not null`,
      values: [],
    })
    if (rows[0]?.[0] === '0') return undefined
    const text = `${update}${value} where ${where}`
    // A unique column has no second row with the value.
    return database.query({ text, values: [] }).then(
      () => [],
      () => undefined,
    )
  })
}

async function drop(
  column: string,
  { model, project }: { readonly model: string; readonly project: AdoptedProject },
): Promise<readonly string[]> {
  const config = await project.readConfig()
  const of = config.models[model]
  if (of) of.dropped = [...(of.dropped ?? []), column]
  await project.writeConfig(config)
  return []
}
