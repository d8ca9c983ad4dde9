import { mkdir, readFile, rm } from 'node:fs/promises'
import { basename, join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { writeWhole } from '../foundation/write-whole.js'
import { bundle, FRAMEWORK, hashOf, type Inputs } from './bundle.js'
import { unloadable } from './unloadable.js'

/** What a compiled file was made from. Stored next to it, and checked before the source is compiled again. */
interface Note {
  /** Everything that the result depends on, except files. */
  readonly circumstances: string
  readonly inputs: readonly (readonly [path: string, hash: string | null])[]
  readonly output: string
  readonly former?: string | undefined
}

const FORMAT = 4

/**
 * Imports the compiled form of a file in or below `folder`. `onCompiled` is called before with its name, which depends on its text.
 * @throws Unloadable, and what the module throws while it is imported
 */
export async function importCompiled(
  file: string,
  folder: string,
  onCompiled = (_name: string): void => {},
): Promise<unknown> {
  // Node.js imports no URL with an encoded backslash.
  if (sep !== '\\' && folder.includes('\\'))
    throw unloadable(`no module can be loaded below the folder ${folder}, because its path has a \\`, [
      'rename the folder',
    ])
  const compiled = await compiledPlugin(file, folder)
  onCompiled(basename(compiled))
  // From here on, stacks name lines of the source files.
  process.setSourceMapsEnabled(true)
  return await import(pathToFileURL(compiled).href)
}

/**
 * Returns the path of the compiled form of a plugin: the existing one under `.snippetctl/plugins` in `folder` if none of its
 * source files has changed, otherwise a new one. The name depends on the content, so changed content is a new module.
 * @throws Unloadable
 */
async function compiledPlugin(entry: string, folder: string): Promise<string> {
  const home = join(folder, '.snippetctl', 'plugins')
  const noteFile = noteOf(entry, folder)
  const circumstances = `${FORMAT} ${FRAMEWORK} ${folder}`
  const note = await readNote(noteFile)
  if (note?.circumstances === circumstances && (await isCurrent(note, folder, home))) return join(home, note.output)

  const inputs: Inputs = new Map()
  const code = await bundle(entry, folder, inputs).catch(async (error: unknown) => {
    // Until the plugin compiles, these files are watched, even those that are missing.
    const files = { ...note, circumstances: 'not compiled', inputs: within(folder, inputs) }
    await mkdir(home, { recursive: true })
      .then(() => writeWhole(noteFile, JSON.stringify(files)))
      .catch(() => {})
    throw error
  })
  const output = `${hashOf(code)}.mjs`
  const former = note?.output === output ? note.former : note?.output
  try {
    await mkdir(home, { recursive: true })
    await writeWhole(join(home, output), code)
    await writeWhole(noteFile, JSON.stringify({ circumstances, inputs: within(folder, inputs), output, former }))
    // The former file stays: a process that has just started may have read the old note.
    if (note?.former && note.former !== former && note.former !== output)
      await rm(join(home, note.former), { force: true })
  } catch (cause) {
    throw unloadable(
      `the compiled plugin cannot be written to ${relative(folder, home)}: ${cause instanceof Error ? cause.message : cause}`,
      ['run it once where the folder of the configuration can be written: snippetctl check'],
      cause,
    )
  }
  return join(home, output)
}

/** The source files of the last compilation, even if it failed, starting with the plugin; only the plugin if there was none. */
export async function compiledFrom(entry: string, folder: string): Promise<Inputs> {
  const note = await readNote(noteOf(entry, folder))
  const inputs = (note?.inputs ?? []).map(([path, hash]) => [resolve(folder, path), hash] as const)
  return new Map([[entry, null], ...inputs])
}

function noteOf(entry: string, folder: string): string {
  return join(
    folder,
    '.snippetctl',
    'plugins',
    `${basename(entry)}-${hashOf(relative(folder, entry)).slice(0, 8)}.json`,
  )
}

function within(folder: string, inputs: Inputs): Note['inputs'] {
  return [...inputs].map(([path, hash]) => [relative(folder, path), hash] as const)
}

/** Returns undefined if the note is missing or unreadable: then the plugin is compiled again. */
async function readNote(file: string): Promise<Note | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Note
  } catch {
    return undefined
  }
}

function hashOfFile(path: string): Promise<string | null> {
  return readFile(path).then(hashOf, () => null)
}

async function isCurrent({ inputs, output }: Note, folder: string, home: string): Promise<boolean> {
  const hashes = await Promise.all(inputs.map(([path]) => hashOfFile(resolve(folder, path))))
  const unchanged = inputs.every(([, hash], index) => hash === hashes[index])
  return unchanged && `${await hashOfFile(join(home, output))}.mjs` === output
}
