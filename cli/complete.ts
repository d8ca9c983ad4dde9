import { resolve } from 'node:path'
import type { Command, Option } from 'commander'
import { DIAGNOSTICS, loadSpec } from '../src/internal.js'
import { type CliContext, loadConfig } from './context.js'
import { topicNames } from './project/topics.js'

interface Candidate {
  readonly value: string
  /** A short description. */
  readonly about: string
}

/** The position of the cursor: the command, and the arguments before it. */
interface CursorPosition {
  readonly command: Command
  readonly config: string
  /** The number of arguments before the cursor. */
  readonly given: number
  /** The option whose value is being completed. */
  readonly awaiting: Option | undefined
}

type Values = (context: CliContext, place: CursorPosition) => Promise<readonly Candidate[]>

const routes: Values = async (context, { config }) => {
  const loaded = await loadConfig(context, { config }, false)
  if (!loaded.ok) return []
  const all = new Map([...loaded.app.routes].map(({ name, path }) => [name, path]))
  return [...all].map(([value, about]) => ({ value, about }))
}

const codes: Values = async () => Object.entries(DIAGNOSTICS).map(([value, { title }]) => ({ value, about: title }))

const topics: Values = async () => topicNames().map((value) => ({ value, about: 'a key of the configuration' }))

const records: Values = async (context, { config }) => {
  const loaded = await loadSpec(resolve(context.cwd, config))
  if (!loaded.ok) return []
  const { resources, models, internal } = loaded.spec
  const own = models.filter((model) => !internal.includes(model))
  const names = new Map<string, string>([
    ...own.map(({ name }) => [name, 'a model'] as const),
    ...resources.map(({ name }) => [name, 'a resource'] as const),
  ])
  return [...names].map(([value, about]) => ({ value, about }))
}

const roles: Values = async (context, { config }) => {
  const loaded = await loadSpec(resolve(context.cwd, config))
  const names = loaded.ok ? (loaded.spec.auth?.roles ?? []) : []
  return names.map((value) => ({ value, about: 'a role' }))
}

/** Candidates for the values of options that depend on the configuration. */
const OPTION_VALUES: Readonly<Record<string, Values>> = { '--resource': records, '--role': roles }

/** Candidates for the first argument of commands, where they depend on the configuration. */
const FIRST_ARGUMENTS: Readonly<Record<string, readonly Values[]>> = {
  url: [routes],
  dump: [records],
  explain: [routes, codes, topics],
}

/** Returns the candidates for the last word. Most are read from the definitions of the commands. */
export async function complete(
  context: CliContext,
  program: Command,
  words: readonly string[],
): Promise<readonly Candidate[]> {
  const current = words.at(-1) ?? ''
  const place = walk(context, program, words.slice(0, -1))
  const all = await candidatesAt(context, place, current)
  return all.filter(({ value }) => value.startsWith(current))
}

function walk({ env }: CliContext, program: Command, words: readonly string[]): CursorPosition {
  const config = env['SNIPPETCTL_CONFIG'] || 'resources.yaml'
  let place: CursorPosition = { command: program, config, given: 0, awaiting: undefined }
  for (const word of words) place = step(place, word)
  return place
}

function step({ command, config, given, awaiting }: CursorPosition, word: string): CursorPosition {
  if (awaiting) {
    return { command, config: awaiting.long === '--config' ? word : config, given, awaiting: undefined }
  }
  const [flag = '', value] = word.split('=')
  const option = findOption(command, flag)
  if (option?.long === '--config' && value !== undefined) return { command, config: value, given, awaiting }
  if (option?.required && value === undefined) return { command, config, given, awaiting: option }
  if (word.startsWith('-')) return { command, config, given, awaiting }
  const child = command.commands.find((each) => each.name() === word)
  return child ? { command: child, config, given: 0, awaiting } : { command, config, given: given + 1, awaiting }
}

function findOption({ options }: Command, flag: string): Option | undefined {
  return options.find(({ short, long }) => flag !== '' && (flag === short || flag === long))
}

async function candidatesAt(
  context: CliContext,
  place: CursorPosition,
  current: string,
): Promise<readonly Candidate[]> {
  const { command, given, awaiting } = place
  if (awaiting) return valuesOf(context, place, awaiting)
  const [flag = '', value] = current.split('=')
  const option = value === undefined ? undefined : findOption(command, flag)
  if (option) {
    const values = await valuesOf(context, place, option)
    return values.map(({ value, about }) => ({ value: `${flag}=${value}`, about }))
  }
  const help = command.createHelp()
  if (current.startsWith('-')) {
    return help.visibleOptions(command).map(({ long, short, description }) => ({
      value: long ?? short ?? '',
      about: description,
    }))
  }
  if (command.commands.length > 0) {
    if (given > 0) return []
    return help.visibleCommands(command).map((child) => ({ value: child.name(), about: child.description() }))
  }
  const { argChoices = [] } = command.registeredArguments[given] ?? {}
  const sources = given === 0 ? (FIRST_ARGUMENTS[command.name()] ?? []) : []
  const known = await Promise.all(sources.map((source) => candidatesOf(source, context, place)))
  return [...argChoices.map((value) => ({ value, about: '' })), ...known.flat()]
}

async function valuesOf(context: CliContext, place: CursorPosition, option: Option): Promise<readonly Candidate[]> {
  const source = OPTION_VALUES[option.long ?? '']
  if (source) return candidatesOf(source, context, place)
  return (option.argChoices ?? []).map((value) => ({ value, about: option.description }))
}

/** Completion prints no messages, so an invalid configuration has no candidates. */
function candidatesOf(source: Values, context: CliContext, place: CursorPosition): Promise<readonly Candidate[]> {
  return source(context, place).catch(() => [])
}
