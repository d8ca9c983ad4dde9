import type { Json } from '../../foundation/json.js'

/** Words that YAML 1.1 or 1.2 reads as booleans or null. */
const TAKEN = /^(?:true|false|null|yes|no|on|off|y|n)$/i

/** Formats a value on one line of YAML; a text that is a name stays without quotes. */
export function formatValue(value: Json): string {
  if (typeof value === 'string') return /^[a-z][a-z0-9_-]*$/i.test(value) && !TAKEN.test(value) ? value : quote(value)
  if (Array.isArray(value)) return `[${value.map(formatValue).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, each]) => `${formatValue(key)}: ${formatValue(each)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

/** JSON, which is YAML, without the characters that YAML does not allow as they are. */
function quote(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
