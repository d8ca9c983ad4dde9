import { existsSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'

// A server holds little for long. Left to itself, V8 lets garbage grow to a multiple of that before it looks for it.
setFlagsFromString('--heap-growing-percent=50')
// Commands gain no time from more space for new objects than V8 starts with. `serve` does, and lets it grow.
setFlagsFromString('--semi-space-growth-factor=1')

// In a checkout the program is compiled when its sources have changed; an installed package holds no sources and no builder.
const sources = new URL('../scripts/sources.mjs', import.meta.url)
if (existsSync(sources) && !(await import(sources.href)).isUntouched()) {
  const { buildWhenStale } = await import(new URL('build-when-stale.mjs', sources).href)
  const built = await buildWhenStale()
  if (!built.ok) {
    console.error(built.reason)
    process.exit(2)
  }
}
await import('../dist/cli/main.js')
