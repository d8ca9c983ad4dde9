import { Writable } from 'node:stream'
import type { Command, Option } from 'commander'
import type { CliContext } from '../../cli/context.js'
import { createOutput } from '../../cli/output.js'
import { createProgram } from '../../cli/program.js'
import { openDatabase, openScratch } from '../../src/internal.js'
import { code, codeBlock, table } from './markdown.js'

/** The command line, and what it has printed. No command is run. */
function makeProgram(): { readonly program: Command; readonly printed: () => string } {
  const chunks: string[] = []
  const sink = new Writable({
    write: (chunk, _, done) => {
      chunks.push(String(chunk))
      done()
    },
  })
  const out = createOutput(sink, { env: {}, noColor: true, complete: (text) => text })
  const nothing = () => {}
  const context: CliContext = {
    cwd: '',
    env: {},
    envFile: undefined,
    startedAt: 0,
    version: '',
    out,
    err: out,
    debug: false,
    withConfig: (text) => text,
    ask: async () => undefined,
    onStop: nothing,
    onCrash: nothing,
    onUnwritable: nothing,
    onReplace: nothing,
    onExit: nothing,
    program: '',
    parent: undefined,
    exit: nothing,
    finish: nothing,
    openDatabase,
    openScratch: () => openScratch(),
  }
  return { program: createProgram(context), printed: () => chunks.join('') }
}

/** The commands that do something, with their full names: `migrate plan`. */
function leaves(
  command: Command,
  path: readonly string[] = [],
): readonly (readonly [name: string, command: Command])[] {
  if (command.commands.length === 0) return [[path.join(' '), command]]
  // Those that the help lists.
  const children = command.createHelp().visibleCommands(command)
  return children.flatMap((child) => leaves(child, [...path, child.name()]))
}

/** What the texts after the help say. */
function helpOf(choose: (program: Command) => Command | undefined): string {
  const { program, printed } = makeProgram()
  choose(program)?.outputHelp()
  return printed()
}

const commandAt = (program: Command, name: string): Command | undefined =>
  name
    .split(' ')
    .reduce<Command | undefined>((at, word) => at?.commands.find((child) => child.name() === word), program)

const CONFIG = '--config'

export function commandTables(): string {
  const { program } = makeProgram()
  const all = leaves(program)
  const isCommon = ({ flags, long }: Option) =>
    long === CONFIG || all.every(([, { options }]) => options.some((one) => one.flags === flags))
  const serve = all.find(([name]) => name === 'serve')?.[1]
  const common = (serve?.options ?? []).filter(isCommon)
  const isOwn = ({ flags }: Option) => !common.some((one) => one.flags === flags)
  const sections = all.map(([name, command]) => {
    const options = command.options.filter(isOwn)
    const given = command.registeredArguments.map((argument) => [code(argument.name()), argument.description])
    return [
      `## snippetctl ${name}`,
      `${sentence(command.description())}`,
      codeBlock('text', usageOf(name, command)),
      ...(given.length > 0 ? [table(['Argument', 'Meaning'], given)] : []),
      ...(options.length > 0 ? [optionTable(options)] : []),
      ...examplesOf(name),
    ].join('\n\n')
  })
  const without = all.filter(([, { options }]) => !options.some(({ long }) => long === CONFIG)).map(([name]) => name)
  const exception = `${without.map(code).join(' and ')} read no configuration, and take no ${code(CONFIG)}.`
  return [...sections, `## Options of every command\n\n${optionTable(common)}\n\n${exception}`].join('\n\n')
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

const usageOf = (name: string, command: Command): string => `snippetctl ${name} ${command.usage()}`

function optionTable(options: readonly Option[]): string {
  const rows = options.map(({ flags, description, defaultValue, argChoices, envVar, negate }) => [
    code(flags),
    argChoices ? `${description}: ${argChoices.map(code).join(', ')}` : description,
    defaultValue === undefined || negate ? '' : code(String(defaultValue)),
    envVar === undefined ? '' : code(envVar),
  ])
  return table(['Option', 'Meaning', 'Default', 'Variable'], rows)
}

/** What follows `Examples:` in the help. */
function examplesOf(name: string): readonly string[] {
  const [, examples = ''] = helpOf((program) => commandAt(program, name)).split('\nExamples:\n')
  const lines = examples
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^ {2}/, ''))
  return examples === '' ? [] : [codeBlock('text', lines.join('\n'))]
}

export function exitCodes(): string {
  const help = helpOf((program) => program)
  const rows = [...help.matchAll(/^ {2}(\d) {2}(.+)$/gm)].map(([, number = '', meaning = '']) => [number, meaning])
  return table(['Code', 'Meaning'], rows)
}
