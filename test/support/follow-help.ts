import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setSetting } from '../../src/config/edit/edit-field.js'
import type { Json } from '../../src/foundation/json.js'
import type { Outcome } from './cli.js'
import type { TestProject } from './project-per-test.js'

/** A step that an output offers: a command, SQL for the database or for a migration, or settings of a field. */
type Help =
  | { readonly kind: 'command'; readonly words: readonly string[] }
  | { readonly kind: 'statements' | 'migration'; readonly sql: string }
  | { readonly kind: 'settings'; readonly model: string; readonly field: string; readonly changes: string }
  | { readonly kind: 'index'; readonly model: string; readonly fields: string }

const LINE = /^\s*(?:= help:|next) +(.*)$/
const COMMAND = /snippetctl ((?:\\'|'[^']*'|[^'\\;,`)])+)/g
const WORD = /(?:\\'|'[^']*'|[^\s'\\])+/g
const MIGRATION = /drop it in a migration.*?: (.*)$/s
const STATEMENTS =
  /(?:put it back(?: as the files have it)?|create it again|make it|build it again): ((?:alter|create|do|drop|reindex) .*)$/is
const SETTINGS = /^In models\.(\w+)\.fields\.(\w+), (.*); then adopt it again$/
const INDEX = /declare it in `models\.(\w+)\.indexes`, as `- (\[.*?\])`/

/** The ways out of one finding, each a sequence of steps. */
export type Finding = readonly (readonly Help[])[]

/** The findings of an output that offer help, in order. A block of code is a single line. */
export function findingsIn({ stdout, stderr }: Outcome): readonly Finding[] {
  const text = `${stdout}\n${stderr}`.replaceAll(/\$\$.*?\$\$/gs, (block) => block.replaceAll('\n', ' '))
  const findings: Help[][][] = []
  let isInside = false
  for (const line of text.split('\n')) {
    const [, help] = LINE.exec(line) ?? []
    const steps = stepsOf(help ?? '')
    if (steps.length > 0 && isInside) findings.at(-1)?.push(steps)
    else if (steps.length > 0) findings.push([steps])
    isInside = help !== undefined && (isInside || steps.length > 0)
  }
  return findings
}

function stepsOf(text: string): Help[] {
  const [, dropped] = MIGRATION.exec(text) ?? []
  if (dropped !== undefined) return [{ kind: 'migration', sql: dropped }]
  const [, sql] = STATEMENTS.exec(text) ?? []
  if (sql !== undefined) return [{ kind: 'statements', sql }]
  const [, model, field, changes] = SETTINGS.exec(text) ?? []
  if (model && field && changes) return [{ kind: 'settings', model, field, changes }]
  const [, indexed, fields] = INDEX.exec(text) ?? []
  const declared: readonly Help[] = indexed && fields ? [{ kind: 'index', model: indexed, fields }] : []
  const commands = [...text.matchAll(COMMAND)].map(([, command = '']) => wordsOf(command))
  return [...declared, ...commands.map((words): Help => ({ kind: 'command', words }))]
}

/** Splits a command as a shell does, and fills in the names that it leaves open. */
export function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(WORD)].map(([word]) =>
    word === 'NAME' ? 'followed' : word.replaceAll(/\\'|'([^']*)'/g, (_all, inner?: string) => inner ?? `'`),
  )
}

/** The way that is chosen where a finding offers several: the first one keeps the database, the last one changes it. */
export type Choice = 'first' | 'last'

/** Follows the help of outputs in a project. */
export interface Follower {
  /** Follows a finding and everything that it leads to. Throws if that is a dead end, or leads back to itself. */
  follow(finding: Finding): Promise<void>
  /** The steps that were done, in order. */
  readonly done: readonly string[]
}

/** @param overviews the commands that show the state, which are not followed */
export function followHelps(project: TestProject, choice: Choice, overviews: readonly string[]): Follower {
  const done: string[] = []
  const perform = async (help: Help): Promise<Outcome | undefined> => {
    if (help.kind === 'command') return project.run(...help.words)
    if (help.kind === 'statements') await project.sql(`${help.sql};`)
    if (help.kind === 'migration') await writeMigration(project, help.sql)
    if (help.kind === 'settings') await writeSettings(project, help)
    if (help.kind === 'index') await writeIndex(project, help)
    return undefined
  }
  const step = async (help: Help, path: readonly string[]): Promise<void> => {
    const name = help.kind === 'command' ? help.words.join(' ') : JSON.stringify(help)
    if (overviews.includes(name)) return
    if (path.includes(name)) throw new Error(`help leads back to itself: ${[...path, name].join(' -> ')}`)
    done.push(name)
    const outcome = await perform(help)
    if (!outcome || outcome.code === 0) return
    const findings = findingsIn(outcome)
    if (findings.length === 0) throw new Error(`a dead end: ${name}: ${outcome.stdout}${outcome.stderr}`)
    for (const finding of findings) {
      const way = await follow(finding, [...path, name])
      if (way?.[0]?.kind === 'settings') await step(help, path)
    }
  }
  const follow = async (finding: Finding, path: readonly string[]): Promise<readonly Help[] | undefined> => {
    const way = choice === 'first' ? finding[0] : finding.at(-1)
    for (const help of way ?? []) await step(help, path)
    return way
  }
  return {
    follow: async (finding) => {
      await follow(finding, [])
    },
    done,
  }
}

async function writeMigration(project: TestProject, sql: string): Promise<void> {
  const { length } = await readdir(join(project.folder, 'migrations'))
  await project.write(`migrations/${String(length + 1).padStart(4, '0')}_by_hand.sql`, `-- up\n${sql};\n`)
}

async function edit(project: TestProject, change: (text: string) => string | undefined): Promise<void> {
  const before = await readFile(join(project.folder, 'resources.yaml'), 'utf8')
  const text = change(before)
  if (text === undefined || text === before) throw new Error('the file has no room for the setting')
  await project.write('resources.yaml', text)
}

interface Settings {
  readonly model: string
  readonly field: string
  readonly changes: string
}

function writeSettings(project: TestProject, { model, field, changes }: Settings): Promise<void> {
  return edit(project, (text) =>
    changes.split(' and ').reduce<string | undefined>((before, change) => {
      const [, verb, key = '', value] = /^(write|remove) `(\w+)(?:: (.*))?`$/.exec(change) ?? []
      if (before === undefined || verb === undefined) throw new Error(`not understood: ${change}`)
      const said = value === undefined ? undefined : read(value)
      return setSetting(before, 'resources.yaml', { model, field }, { key, value: said })
    }, text),
  )
}

/** Reads a value as YAML spells it: `12`, `[a, b]`, `{ function: now }`, `none`. */
function read(text: string): Json {
  const spelled = text.replaceAll(/[a-z_]\w*/gi, (word) => (/^(?:true|false|null)$/.test(word) ? word : `"${word}"`))
  return JSON.parse(text.startsWith('"') ? text : spelled) as Json
}

function writeIndex(project: TestProject, { model, fields }: { readonly model: string; readonly fields: string }) {
  return edit(project, (text) => {
    const block = new RegExp(`^  ${model}:\\n(?:    .*\\n)+`, 'm')
    return text.replace(block, (found) =>
      found.includes('\n    indexes:\n')
        ? found.replace('\n    indexes:\n', `\n    indexes:\n      - ${fields}\n`)
        : `${found}    indexes:\n      - ${fields}\n`,
    )
  })
}
