/**
 * Module hooks of Node for the tests: they load TypeScript, and evaluate the modules of tests once for each test file. What the tests are about,
 * `src/` and packages, is evaluated once for each worker, because evaluating it takes longer than most test files.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { compile } from './compile.cjs'

const HOME = new URL('../..', import.meta.url).href
const REPLACED = {
  '@jest/globals': new URL('globals.mjs', import.meta.url).href,
  snippetctl: `${HOME}src/index.ts`,
  'snippetctl/testing': `${HOME}src/testing.ts`,
}
/** Tests measure and run the files that browsers get. */
const ASSETS = `${HOME}src/explore/assets/asset-texts.ts`
/** Their modules keep state between the tests of a file, and add hooks. */
const PER_FILE = ['test/', 'torture/', 'bench/', 'scripts/jest/globals.mjs'].map((path) => HOME + path)

export async function resolve(specifier, context, next) {
  const url = REPLACED[specifier] ?? typescriptOf(specifier, context.parentURL)
  if (url === undefined) return resolvePackage(specifier, context, next)
  const isPerFile = PER_FILE.some((start) => url.startsWith(start))
  return { url: isPerFile ? url + new URL(context.parentURL).search : url, format: 'module', shortCircuit: true }
}

export async function load(url, context, next) {
  if (!isTypescript(url)) return next(url, context)
  const path = fileURLToPath(url)
  return { format: 'module', source: url === ASSETS ? await shrink(path) : compile(path), shortCircuit: true }
}

async function shrink(path) {
  const { shrinkTexts } = await import('./shrink-texts.mjs')
  return shrinkTexts(path)
}

/** Hooks run in a thread of their own, and what they throw is not a native error where it arrives. So a module throws it. */
async function resolvePackage(specifier, context, next) {
  try {
    return await next(specifier, context)
  } catch ({ message, code }) {
    const source = `throw Object.assign(new Error(${JSON.stringify(message)}), { code: '${code}' })`
    return { url: `data:text/javascript,${encodeURIComponent(source)}`, format: 'module', shortCircuit: true }
  }
}

/** The URL of a TypeScript module that another one imports by the name of its JavaScript. */
function typescriptOf(specifier, parent) {
  if (!specifier.startsWith('.') || parent === undefined || !isTypescript(parent)) return undefined
  const url = new URL(specifier, parent)
  url.pathname = url.pathname.replace(/\.js$/, '.ts')
  return isTypescript(url.href) && existsSync(url) ? url.href : undefined
}

function isTypescript(url) {
  return url.startsWith('file:') && new URL(url).pathname.endsWith('.ts') && !url.includes('/node_modules/')
}
