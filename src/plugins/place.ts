import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FindPlace, SourceLocation } from '../http/route.js'

const FRAME = /((?:file:\/\/)?\/[^()\n]*):(\d+):(\d+)\)?$/

/** The place from which the running function `callee` was called; resolved on demand, because that is rarely needed and reads a source map. */
export function callPlace(callee: (...given: never[]) => unknown, configuration: string): FindPlace {
  const call: { readonly stack?: string } = {}
  Error.captureStackTrace(call, callee)
  return () => placeOf(call.stack ?? '', dirname(configuration))
}

/** The place of an error below the folder of a configuration, as `plugin.ts:3:9`; undefined if it occurred elsewhere. */
export function errorPlace({ stack = '' }: Error, folder: string): string | undefined {
  for (const frame of framesIn(stack)) {
    const place = placeIn(frame, folder)
    if (place) return `${place.file}:${place.line}:${place.column}`
  }
  return undefined
}

function placeOf(stack: string, folder: string): SourceLocation | undefined {
  const place = placeIn(framesIn(stack)[0] ?? '', folder)
  return place && { file: place.file, line: place.line }
}

function framesIn(stack: string): readonly string[] {
  return stack.split('\n').filter((line) => line.trimStart().startsWith('at '))
}

function placeIn(frame: string, folder: string): (SourceLocation & { readonly column: number }) | undefined {
  const [, file = '', line, column] = FRAME.exec(frame) ?? []
  if (file === '') return undefined
  const place = relative(folder, file.startsWith('file:') ? fileURLToPath(file) : file)
  return /^\.|node_modules/.test(place) ? undefined : { file: place, line: Number(line), column: Number(column) }
}
