import { execFile } from 'node:child_process'
import { symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { makeProject } from './cli.js'

const OPTIONS = {
  target: 'es2023',
  module: 'nodenext',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  skipLibCheck: true,
  rootDir: '/',
  types: ['node'],
  typeRoots: [resolve('node_modules', '@types')],
  paths: {
    snippetctl: [resolve('dist', 'src', 'index.d.ts')],
    'snippetctl/testing': [resolve('dist', 'src', 'testing.d.ts')],
  },
}

/** Compiles files under `strict` and returns a line for each error: `plugin.ts:3 Property …`. */
export async function compileFiles(
  files: Readonly<Record<string, string>>,
  options: Readonly<Record<string, unknown>> = {},
): Promise<readonly string[]> {
  const config = { compilerOptions: { ...OPTIONS, ...options }, files: Object.keys(files) }
  const project = await makeProject({
    ...files,
    'package.json': '{"type":"module"}',
    'tsconfig.json': JSON.stringify(config),
  })
  try {
    await symlink(resolve('node_modules'), join(project.folder, 'node_modules'))
    return await compileProject(project.folder)
  } finally {
    await project.remove()
  }
}

/** The same for a folder with a `tsconfig.json`. */
export async function compileProject(folder: string): Promise<readonly string[]> {
  const compiler = resolve('node_modules', 'typescript-7', 'bin', 'tsc')
  const said = await promisify(execFile)(process.execPath, [compiler, '-p', folder], { cwd: folder }).then(
    ({ stdout }) => stdout,
    (error: Error & { readonly stdout?: string }) => error.stdout || error.message,
  )
  return said
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith(' '))
    .map((line) => line.replace(/\((\d+),\d+\): error TS\d+:/, ':$1'))
}
