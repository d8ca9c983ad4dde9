import { hash } from 'node:crypto'
import { createHighlightThread } from './worker.js'

/** HTML for a piece of code: never longer in coming than the deadline, and never the code's own HTML. */
export type Highlight = (code: string, language: string) => Promise<string>

interface HighlighterOptions {
  /** What the finished HTML kept for the next request may take, about. */
  readonly maxBytes: number
  /** Milliseconds after which a piece of code is answered without colours. */
  readonly deadline?: number
  /** Milliseconds that a piece of code waits behind others before it is answered without colours. */
  readonly patience?: number
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
}

/** Text as HTML that shows just this text, in the entities that highlight.js uses too. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')

/** All that highlight.js may add. What is left without it must be the escaped code, or the HTML is not used. */
const MARKUP = /<span class="[\w .-]+">|<\/span>/g

const ENTRY_OVERHEAD = 200

/** The entries used last, as many as fit. */
const createCache = (maxBytes: number) => {
  const entries = new Map<string, string | undefined>()
  let bytes = 0
  const size = (html: string | undefined): number => ENTRY_OVERHEAD + 2 * (html?.length ?? 0)

  return {
    has: (key: string): boolean => entries.has(key),
    take(key: string): string | undefined {
      const html = entries.get(key)
      entries.delete(key)
      entries.set(key, html)
      return html
    },
    put(key: string, html: string | undefined): void {
      if (size(html) > maxBytes || entries.has(key)) return
      entries.set(key, html)
      bytes += size(html)
      for (const [oldest, value] of entries) {
        if (bytes <= maxBytes) return
        entries.delete(oldest)
        bytes -= size(value)
      }
    },
  }
}

/** How long the colours of one piece of code may take. */
export const HIGHLIGHT_DEADLINE_MS = 1_000

/**
 * Makes the function behind `highlighted`: HTML of highlight.js classes for a language that it knows by name or alias,
 * escaped text for any other and for code that takes longer than the deadline. It never fails.
 */
export const createHighlighter = ({
  maxBytes,
  deadline = HIGHLIGHT_DEADLINE_MS,
  patience = 2_000,
}: HighlighterOptions): Highlight => {
  const cache = createCache(maxBytes)
  const highlight = createHighlightThread({ deadline, patience })

  return async (code, language) => {
    const key = hash('sha256', `${language}\0${code}`, 'base64')
    if (cache.has(key)) return cache.take(key) ?? escapeHtml(code)

    const plain = escapeHtml(code)
    const outcome = await highlight(code, language)
    const html = 'html' in outcome && outcome.html.replace(MARKUP, '') === plain ? outcome.html : undefined
    // Code without colours is remembered as such, without its HTML: or each request for slow code would end a thread.
    if ('html' in outcome || outcome.none === 'slow') cache.put(key, html)
    return html ?? plain
  }
}
