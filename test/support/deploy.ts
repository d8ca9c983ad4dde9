import { readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'

/** A part of a document with a foreign schema. */
export interface Part {
  readonly [key: string]: Part & string & number & readonly Part[]
}

/** One instruction of a Dockerfile, with its lines joined. */
export interface Instruction {
  readonly name: string
  readonly text: string
  readonly words: readonly string[]
}

export const read = (file: string): string => readFileSync(file, 'utf8')

/** The files of `deploy/`; throws if their YAML is invalid. */
export const dockerfile = instructionsOf(read('deploy/Dockerfile'))
/** The instructions of the final stage. */
export const image = dockerfile.slice(dockerfile.findLastIndex(({ name }) => name === 'FROM'))
export const imageEnvironment = Object.fromEntries(
  image.filter(({ name }) => name === 'ENV').flatMap(({ words }) => words.map((word) => word.split('='))),
) as Readonly<Record<string, string>>
export const compose = (documentsOf('deploy/compose.yaml')[0]?.['services'] ?? {}) as Part
export const cluster = ['migrate.yaml', 'service.yaml'].flatMap((file) => documentsOf(`deploy/kubernetes/${file}`))
/** The options of the unit, each with its values in order. */
export const unit = unitOptions(read('deploy/systemd/snippetctl.service'))

export const objectOf = (kind: string): Part => cluster.find((one) => String(one['kind']) === kind) ?? {}
export const podOf = (kind: string): Part => objectOf(kind)['spec']?.['template']?.['spec'] ?? {}
export const containerOf = (kind: string): Part => podOf(kind)['containers']?.[0] ?? {}
export const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [])

/** The first instruction of this name in the final stage. */
export const instruction = (name: string): string => image.find((one) => one.name === name)?.text ?? ''

/** The words of an instruction in exec form. */
export const execForm = (name: string): readonly string[] =>
  listOf(JSON.parse(instruction(name).replace(/^.*?\bCMD /, '')))

/** Parses the instructions of a Dockerfile. */
export function instructionsOf(text: string): readonly Instruction[] {
  const lines = text.split('\n').filter((line) => !/^\s*(#|$)/.test(line))
  return lines
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => {
      const [name = '', ...words] = line.split(/\s+/)
      return { name, text: words.join(' '), words }
    })
}

/** Parses the documents of a YAML file; throws if one is invalid. */
export function documentsOf(file: string): readonly Part[] {
  return parseAllDocuments(read(file), { merge: true }).map((document) => {
    const [fault] = [...document.errors, ...document.warnings]
    if (fault) throw fault
    return document.toJS() as Part
  })
}

function unitOptions(text: string): ReadonlyMap<string, readonly string[]> {
  const pairs = [...text.matchAll(/^(\w+)=(.*)$/gm)]
  const grouped = new Map<string, readonly string[]>()
  for (const [, key = '', value = ''] of pairs) grouped.set(key, [...(grouped.get(key) ?? []), value])
  return grouped
}
