import type { Context, Reply } from '../../http/route.js'
import { TEXTS } from './asset-texts.js'
import { addressOf, editionOf, type KeptFile, keptFile } from './cached-file.js'

const TYPES: Readonly<Record<string, string>> = { css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' }

const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="#3451d1"/><path d="M6 7.5h12M6 12h8M6 16.5h5" stroke="#fff" stroke-width="2.2" stroke-linecap="round"/><circle cx="17" cy="16" r="2.2" fill="#8ff0c4"/></svg>`

// The assets are modules, so that they are found however the program was compiled or bundled.
const ASSETS: ReadonlyMap<string, KeptFile> = new Map(
  Object.entries({ ...TEXTS, 'explore.svg': LOGO }).map(([name, text]) => {
    const type = `${TYPES[name.slice(name.lastIndexOf('.') + 1)]}; charset=utf-8`
    return [name, { type, text, tag: editionOf(text) }] as const
  }),
)

/** Returns the URL of an asset. */
export function assetUrl(name: string): string {
  return addressOf(`/explore/${name}`, ASSETS.get(name)?.tag ?? '')
}

/** Responds with an asset. */
export function assetReply(name: string, context: Context): Promise<Reply> {
  const asset = ASSETS.get(name)
  if (!asset) throw new Error(`Explore has no file ${name}`)
  return keptFile(asset, context)
}
