import { buildSync } from 'esbuild'
import { shrinkAssets } from '../shrink-assets.mjs'

/** Returns the code that takes the place of `asset-texts.ts`, as in the build. */
export function shrinkTexts(path) {
  const { outputFiles } = buildSync({
    entryPoints: [path],
    bundle: true,
    format: 'iife',
    globalName: 'made',
    write: false,
  })
  const texts = new Function(`${outputFiles[0].text}; return made.TEXTS`)()
  return shrinkAssets(texts)
}
