import { createHash } from 'node:crypto'
import type { Cell } from '../../fields/cell.js'
import type { Statement } from '../database.js'

/** A statement as it was rendered for one request: the text, with its values beside it. */
export interface Rendered {
  readonly text: string
  readonly values: readonly Cell[]
  readonly kind: Required<Pick<Statement, 'retry' | 'quick'>> & Pick<Statement, 'locks'>
  readonly raw?: number | undefined
  /** The record that it changes. */
  readonly record?: string | undefined
}

/** The texts of an application that are kept, over all resources. */
export interface StatementCounts {
  kept: number
  /** Texts that lost their place to others. */
  unkept: number
  /**
   * Goes up when columns may have changed their types. It is a part of names, because what was prepared before has parameters of the types
   * that columns had then.
   */
  generation: number
}

/** A text, and how often it was sent lately. It holds no value of any request. */
interface Shape {
  readonly text: string
  uses: number
  placed: boolean
  hash: string | undefined
  name: string | undefined
  generation: number
}

/** A statement whose text has its place, before it is sent: the same statement may be sent several times. */
export interface Filled {
  readonly shape: Shape
  readonly rendered: Rendered
}

/** More uses than that tell nothing more; so what was used once and is used no more loses its place after a few rounds. */
const MOST_USES = 64
/** A statement is prepared when it is sent for the second time, so that what is asked once leaves nothing behind at the server. */
const PREPARED_FROM = 2

/** Keeps so many texts, by use: those that were used least lately make room for new ones. A text is its own key. */
export function createShapes(resource: string, counts: StatementCounts, most: number) {
  const places = new Map<string, Shape>()

  /** Goes around the places, oldest first, and halves the uses of each, until one is hardly used (the GCLOCK algorithm). */
  function makeRoom(): void {
    for (const [text, shape] of places) {
      places.delete(text)
      if (shape.uses <= 1) {
        shape.placed = false
        shape.name = undefined
        counts.kept -= 1
        counts.unkept += 1
        return
      }
      shape.uses >>= 1
      places.set(text, shape)
    }
  }

  /** Returns the shape that has the place of this text: another one if this one has lost it. */
  function place(shape: Shape): Shape {
    const current = places.get(shape.text)
    if (current) return current
    if (places.size >= most) makeRoom()
    shape.placed = true
    shape.uses = 0
    places.set(shape.text, shape)
    counts.kept += 1
    return shape
  }

  function nameOf(shape: Shape): string | undefined {
    const { generation } = counts
    if (shape.name !== undefined && shape.generation === generation) return shape.name
    if (shape.uses < PREPARED_FROM) return undefined
    shape.hash ??= createHash('sha1').update(shape.text).digest('base64url')
    shape.generation = generation
    shape.name = generation === 0 ? shape.hash : `${shape.hash}.${generation}`
    return shape.name
  }

  function fill(rendered: Rendered): Filled {
    return { shape: places.get(rendered.text) ?? newShape(rendered.text), rendered }
  }

  function send({ shape: filled, rendered }: Filled): Statement {
    const shape = filled.placed ? filled : place(filled)
    if (shape.uses < MOST_USES) shape.uses += 1
    const { values, kind, raw, record } = rendered
    return { text: shape.text, values, name: nameOf(shape), raw, resource, record, ...kind }
  }

  return {
    fill,
    send,
    serve: (rendered: Rendered): Statement => send(fill(rendered)),
    /** A statement that no other request would use. */
    once: ({ text, values, kind, raw, record }: Rendered): Statement => ({
      text,
      values,
      raw,
      resource,
      record,
      ...kind,
    }),
  }
}

export type Shapes = ReturnType<typeof createShapes>

function newShape(text: string): Shape {
  return { text, uses: 0, placed: false, hash: undefined, name: undefined, generation: 0 }
}
