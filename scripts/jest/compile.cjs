const { createHash } = require('node:crypto')
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const { join, resolve } = require('node:path')

const FOLDER = resolve(__dirname, '../../.snippetctl/tests')
const { version } = require('@swc/core/package.json')
const OPTIONS = {
  jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
  module: { type: 'es6' },
  sourceMaps: true,
}

/** Returns the JavaScript of a TypeScript file, compiled once for each content. */
function compile(path) {
  const text = readFileSync(path, 'utf8')
  const made = madeOf(path, text)
  try {
    return readFileSync(made, 'utf8')
  } catch {
    const { code, map } = require('@swc/core').transformSync(text, { ...OPTIONS, filename: path, sourceFileName: path })
    mkdirSync(FOLDER, { recursive: true })
    writeWhole(`${made}.map`, map)
    writeWhole(made, code)
    return code
  }
}

/** Returns the file of the source map of a compiled TypeScript file. */
function sourceMapOf(path) {
  return `${madeOf(path, readFileSync(path, 'utf8'))}.map`
}

function madeOf(path, text) {
  const digest = createHash('sha256')
    .update(`${version}\0${JSON.stringify(OPTIONS)}\0${path}\0${text}`)
    .digest('hex')
  return join(FOLDER, `${digest}.js`)
}

/** Workers compile at the same time, and must not read half a file. */
function writeWhole(file, text) {
  const unfinished = `${file}.${process.pid}`
  writeFileSync(unfinished, text)
  renameSync(unfinished, file)
}

module.exports = { compile, sourceMapOf }
