import type { Diagnostic } from '../diagnostic.js'
import { createSourceText, type SourceText, textDiagnostic } from './source-text.js'

/**
 * The maximum size of a configuration, in bytes: the models and resources of some thousand tables. It bounds the time and memory of a wrong file.
 * Readers stop one byte later.
 */
export const MAX_CONFIG_BYTES = 4 * 1024 * 1024

const FOREIGN_MARKS = [
  { name: 'UTF-32 (little-endian)', bytes: [0xff, 0xfe, 0, 0] },
  { name: 'UTF-32 (big-endian)', bytes: [0, 0, 0xfe, 0xff] },
  { name: 'UTF-16 (little-endian)', bytes: [0xff, 0xfe] },
  { name: 'UTF-16 (big-endian)', bytes: [0xfe, 0xff] },
]

/** Characters that no text needs: C0 except tab and line ends, DEL, C1 except NEL, unpaired surrogates, and byte order marks inside the text. */
const INVISIBLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f\ufeff\ufffe\uffff]/

/** Returns the text of a configuration file, or the first reason why its bytes are not text. */
export function decodeConfig(bytes: Uint8Array, file: string): SourceText | Diagnostic {
  const none = createSourceText(file, '')
  if (bytes.length > MAX_CONFIG_BYTES) {
    const message = `the file has more than ${MAX_CONFIG_BYTES} bytes`
    return textDiagnostic(none, {
      code: 'SC101',
      from: 0,
      to: 0,
      message,
      help: [`${MAX_CONFIG_BYTES / 2 ** 20} MiB is the limit`],
    })
  }
  const foreign = FOREIGN_MARKS.find((mark) => mark.bytes.every((byte, index) => bytes[index] === byte))
  if (foreign !== undefined) {
    const message = `the file is encoded as ${foreign.name}`
    return textDiagnostic(none, { code: 'SC103', from: 0, to: 0, message, help: ['save the file as UTF-8'] })
  }
  const text = decodeUtf8(bytes)
  if (text === undefined) return invalidByte(bytes, file)
  const source = createSourceText(file, text)
  const control = INVISIBLE.exec(text)
  return control === null ? source : controlCharacter(source, control.index)
}

function decodeUtf8(bytes: Uint8Array, stream = false): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream })
  } catch {
    return undefined
  }
}

/** Finds the longest decodable start by bisection: if a start does not decode, no longer one does. */
function invalidByte(bytes: Uint8Array, file: string): Diagnostic {
  let good = 0
  let bad = bytes.length + 1
  while (bad - good > 1) {
    const middle = (good + bad) >> 1
    if (decodeUtf8(bytes.subarray(0, middle), true) === undefined) bad = middle
    else good = middle
  }
  const text = decodeUtf8(bytes.subarray(0, good), true) ?? ''
  const index = new TextEncoder().encode(text).length + (hasMark(bytes) ? 3 : 0)
  const byte = (bytes[index] ?? 0).toString(16).padStart(2, '0')
  const source = createSourceText(file, `${text}\ufffd`)
  return textDiagnostic(source, {
    code: 'SC102',
    from: text.length,
    to: text.length + 1,
    message: `invalid UTF-8: the byte 0x${byte} at offset ${index} is not part of a character`,
    help: ['save the file as UTF-8'],
  })
}

function hasMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

function controlCharacter(source: SourceText, index: number): Diagnostic {
  const code = source.text.charCodeAt(index).toString(16).toUpperCase().padStart(4, '0')
  const message = `the character U+${code} is invisible and not allowed`
  const help = ['remove it; inside double quotes it can be written as an escape sequence']
  return textDiagnostic(source, { code: 'SC104', from: index, to: index + 1, message, help })
}
