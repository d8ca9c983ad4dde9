/** Writes the generated sections of the pages in docs/ from the program itself, and `llms.txt` from the pages. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

// Written next to the sources of the program, because it imports packages by name.
const bundle = new URL(`../dist.docs-${process.pid}.mjs`, import.meta.url)
try {
  await build({
    entryPoints: ['docs/generate/index.ts'],
    outfile: fileURLToPath(bundle),
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    tsconfigRaw: {},
    logLevel: 'warning',
  })
  const { writeLlms, writeSections } = await import(bundle.href)
  for (const name of readdirSync('docs').filter((each) => each.endsWith('.md'))) {
    const text = readFileSync(`docs/${name}`, 'utf8')
    const written = writeSections(text)
    if (written === text) continue
    writeFileSync(`docs/${name}`, written)
    console.log(`wrote docs/${name}`)
  }
  writeFileSync(
    'llms.txt',
    writeLlms((file) => readFileSync(file, 'utf8')),
  )
} finally {
  rmSync(bundle, { force: true })
}
