const MARKUP: unique symbol = Symbol('markup')

/** Finished HTML. Only `html` makes it, so that text becomes markup nowhere else. */
export interface Html {
  readonly [MARKUP]: string
}

/** What a template may hold: text, which is escaped, and finished HTML, which is not; nothing stands for the rest. */
export type Part = Html | string | number | false | undefined | readonly Html[]

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  // A browser would make a line feed of it.
  '\r': '&#13;',
}

/** Text as HTML that shows just this text, in elements and in quoted attributes. */
function escapeText(text: string): string {
  return text.replace(/[&<>"'\r]/g, (character) => ENTITIES[character] ?? '')
}

/** A template of HTML: what it holds is escaped unless it is HTML already. Attributes have to be quoted. */
export function html(template: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const [head = '', ...rest] = template
  return { [MARKUP]: rest.reduce((before, after, index) => before + spell(parts[index]) + after, head) }
}

/** The text of HTML. */
export const markupOf = (page: Html): string => page[MARKUP]

function spell(part: Part): string {
  if (part === undefined || part === false) return ''
  if (typeof part === 'string') return escapeText(part)
  if (typeof part === 'number') return String(part)
  return isList(part) ? part.map(markupOf).join('') : part[MARKUP]
}

function isList(part: Html | readonly Html[]): part is readonly Html[] {
  return Array.isArray(part)
}
