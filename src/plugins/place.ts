import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FindPlace, Place } from '../http/route.js'

const FRAME = /((?:file:\/\/)?\/[^()\n]*):(\d+):\d+\)?$/m

/** Where the function that is running now, `callee`, was called from; told later, since that is rarely asked and costs a source map. */
export function callPlace(callee: (...given: never[]) => unknown, configuration: string): FindPlace {
  const call: { readonly stack?: string } = {}
  Error.captureStackTrace(call, callee)
  return () => placeOf(call.stack ?? '', dirname(configuration))
}

function placeOf(stack: string, folder: string): Place | undefined {
  const [caller = ''] = stack.split('\n').filter((line) => line.trimStart().startsWith('at '))
  const [, file = '', line] = FRAME.exec(caller) ?? []
  if (file === '') return undefined
  const place = relative(folder, file.startsWith('file:') ? fileURLToPath(file) : file)
  return /^\.|node_modules/.test(place) ? undefined : { file: place, line: Number(line) }
}
