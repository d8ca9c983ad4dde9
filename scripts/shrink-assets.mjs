import { transformSync } from 'esbuild'

/**
 * The module with the style sheet and scripts of Explore in few bytes, to use in place of `src/explore/assets/asset-texts`.
 * @param {Readonly<Record<string, string>>} texts by file name
 */
export function shrinkAssets(texts) {
  const shrunk = Object.entries(texts).map(([name, text]) => {
    const loader = name.endsWith('.css') ? 'css' : 'js'
    return [name, transformSync(text, { minify: true, loader, target: 'es2022' }).code]
  })
  return `export const TEXTS = ${JSON.stringify(Object.fromEntries(shrunk))}\n`
}
