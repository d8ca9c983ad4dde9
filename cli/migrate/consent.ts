import { InvalidArgumentError } from 'commander'
import { ConsentNeeded, describeLoss, objectsOf, shellWord } from '../../src/internal.js'
import type { CliContext } from '../context.js'
import { Failure } from '../failure.js'

/** The option of every command that can destroy values. */
export interface ConsentOptions {
  readonly allowDestructive?: readonly string[]
}

export const CONSENT_FLAG = '--allow-destructive <names>'
export const CONSENT_TEXT = 'destroy the data of exactly these: table or table.column, separated by commas'

/** @throws InvalidArgumentError if a name is not a table or table.column */
export function parseConsent(text: string, before: readonly string[] = []): readonly string[] {
  const names = text.split(',').map((name) => name.trim())
  if (names.every((name) => /^[^.,*]+(\.[^,*]+)?$/.test(name))) return [...before, ...names]
  throw new InvalidArgumentError('Each name must be a table or table.column; there is no wildcard.')
}

/**
 * Runs work that may destroy only the tables and columns that were named by the flag or at the terminal.
 * @throws Failure 3 if there is no terminal, or the answer is a different name
 */
export async function withConsent<T>(
  context: CliContext,
  { allowDestructive = [] }: ConsentOptions,
  work: (allows: (object: string) => boolean) => Promise<T>,
): Promise<T> {
  const allowed = new Set(allowDestructive)
  for (;;) {
    try {
      return await work((object) => allowed.has(object))
    } catch (error) {
      if (!(error instanceof ConsentNeeded)) throw error
      for (const object of await askFor(context, error)) allowed.add(object)
    }
  }
}

async function askFor(context: CliContext, { losses }: ConsentNeeded): Promise<readonly string[]> {
  const objects = objectsOf(losses)
  const descriptions = losses.map(describeLoss)
  const flag = `allow exactly this: --allow-destructive=${shellWord(objects.join(','))}`
  for (const [index, object] of objects.entries()) {
    if (index === 0 && context.err.terminal) for (const loss of descriptions) context.err.line(`  ! ${loss}`)
    const answer = await context.ask(`type ${object} to continue, Ctrl-C to stop: `)
    if (answer?.trim() === object) continue
    if (answer !== undefined) throw new Failure(3, `stopped, because the answer was not \`${object}\``)
    throw new Failure(3, `data would be lost, and confirmation needs a terminal: ${descriptions.join('; ')}`, [flag])
  }
  return objects
}
