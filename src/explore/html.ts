const MARKUP: unique symbol = Symbol('markup')

/** Safe HTML. Only `html` creates it, so that text becomes markup nowhere else. */
export interface Html {
  readonly [MARKUP]: string
}

/** What a template may contain: text, which is escaped, and HTML, which is not. Other values render nothing. */
export type HtmlPart = Html | string | number | false | undefined | readonly Html[]

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  // A browser would convert it to a line feed.
  '\r': '&#13;',
}

/** Escapes text for elements and quoted attributes. */
function escapeText(text: string): string {
  return text.replace(/[&<>"'\r]/g, (character) => ENTITIES[character] ?? '')
}

/** Renders an HTML template. Text is escaped. Attributes must be quoted. */
export function html(template: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  const [head = '', ...rest] = template
  return { [MARKUP]: rest.reduce((before, after, index) => before + format(parts[index]) + after, head) }
}

/** Returns the markup. */
export function markupOf(page: Html): string {
  return page[MARKUP]
}

function format(part: HtmlPart): string {
  if (part === undefined || part === false) return ''
  if (typeof part === 'string') return escapeText(part)
  if (typeof part === 'number') return String(part)
  return isList(part) ? part.map(markupOf).join('') : part[MARKUP]
}

function isList(part: Html | readonly Html[]): part is readonly Html[] {
  return Array.isArray(part)
}

/** A number with separators between thousands. The first use of `toLocaleString` in a process takes 70 ms. */
export function grouped(digits: number | string): string {
  const text = String(digits)
  const first = text.length % 3 || 3
  return [text.slice(0, first), ...(text.slice(first).match(/\d{3}/g) ?? [])].join(',')
}
