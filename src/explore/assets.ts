import type { Context, Reply } from '../http/route.js'
import { addressOf, editionOf, type KeptFile, keptFile } from './cached-file.js'
import { LIST_SCRIPT } from './list-script.js'
import { LIST_STYLE } from './list-style.js'
import { RECORD_SCRIPT } from './record-script.js'
import { SCRIPT } from './script.js'
import { SIGN_IN_SCRIPT } from './sign-in-script.js'
import { STYLE } from './style.js'

const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="#3451d1"/><path d="M6 7.5h12M6 12h8M6 16.5h5" stroke="#fff" stroke-width="2.2" stroke-linecap="round"/><circle cx="17" cy="16" r="2.2" fill="#8ff0c4"/></svg>`

// The assets are modules, so that they are found however the program was compiled or bundled.
const ASSETS: ReadonlyMap<string, KeptFile> = new Map(
  [
    ['explore.css', 'text/css', shrinkStyle(STYLE + LIST_STYLE)] as const,
    ['explore.js', 'text/javascript', shrinkScript(SCRIPT)] as const,
    ['explore-list.js', 'text/javascript', shrinkScript(LIST_SCRIPT)] as const,
    ['explore-record.js', 'text/javascript', shrinkScript(RECORD_SCRIPT)] as const,
    ['explore-sign-in.js', 'text/javascript', shrinkScript(SIGN_IN_SCRIPT)] as const,
    ['explore.svg', 'image/svg+xml', LOGO] as const,
  ].map(([name, type, text]) => [name, { type: `${type}; charset=utf-8`, text, edition: editionOf(text) }]),
)

/** Removes indentation and comments. No string of the script has several lines. */
function shrinkScript(text: string): string {
  return text
    .replaceAll(/^ +/gm, '')
    .replaceAll(/^\/\/.*\n/gm, '')
    .replaceAll(/\n{2,}/g, '\n')
}

/** Removes spaces that mean nothing. No string of the style has a colon or a brace. */
function shrinkStyle(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};,>]) ?/g, '$1')
    .replaceAll(': ', ':')
    .replaceAll(';}', '}')
}

/** Returns the URL of an asset. */
export function assetUrl(name: string): string {
  return addressOf(`/explore/${name}`, ASSETS.get(name)?.edition ?? '')
}

/** Responds with an asset. */
export function assetReply(name: string, context: Context): Reply {
  const asset = ASSETS.get(name)
  if (!asset) throw new Error(`Explore has no file ${name}`)
  return keptFile(asset, context)
}
