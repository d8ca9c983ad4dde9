/** Transforms `asset-texts.ts` for tests as the build does, so that tests measure and run the files that browsers get. */
import { createHash } from 'node:crypto'
import { buildSync } from 'esbuild'
import { HOME, look } from '../sources.mjs'
import { shrinkAssets } from '../shrink-assets.mjs'

export default {
  /** The texts are in other modules. */
  getCacheKey(text, path) {
    return createHash('sha256')
      .update(`${path}\0${text}\0${look(HOME)}`)
      .digest('hex')
  },

  // Jest transforms synchronously, so the texts are not imported as a module.
  process(_text, path) {
    const { outputFiles } = buildSync({
      entryPoints: [path],
      bundle: true,
      format: 'iife',
      globalName: 'made',
      write: false,
    })
    const texts = new Function(`${outputFiles[0].text}; return made.TEXTS`)()
    return { code: shrinkAssets(texts) }
  },
}
