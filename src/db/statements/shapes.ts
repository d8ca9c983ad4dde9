import { createHash } from 'node:crypto'
import type { Cell } from '../../fields/cell.js'
import type { Statement } from '../database.js'

/** The text of a statement, made once for each shape of what is asked; only the values differ between requests. */
export interface Template<Input> {
  readonly text: string
  readonly values: readonly ((input: Input) => Cell)[]
  readonly kind: Required<Pick<Statement, 'retry' | 'quick'>> & Pick<Statement, 'locks'>
  readonly raw?: number | undefined
  /** The record that it changes. */
  readonly record?: (input: Input) => string
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

/** A shape, and how often it was used lately. */
interface Shape {
  readonly key: string
  readonly template: Template<never>
  uses: number
  placed: boolean
  hash: string | undefined
  name: string | undefined
  generation: number
}

/** A statement of a shape, before it is sent: the same one may be sent several times. */
export interface Filled {
  readonly shape: Shape
  readonly values: readonly Cell[]
  readonly record: string | undefined
}

/** More uses than that tell nothing more; so what was used once and is used no more loses its place after a few rounds. */
const MOST_USES = 64
/** A statement is prepared when it is sent for the second time, so that what is asked once leaves nothing behind at the server. */
const PREPARED_FROM = 2

/** Keeps the texts of so many shapes, by use: those that were used least lately make room for new ones. */
export function createShapes(resource: string, counts: StatementCounts, most: number) {
  const places = new Map<string, Shape>()

  /** Goes around the places, oldest first, and halves the uses of each, until one is hardly used (the GCLOCK algorithm). */
  function makeRoom(): void {
    for (const [key, shape] of places) {
      places.delete(key)
      if (shape.uses <= 1) {
        shape.placed = false
        shape.name = undefined
        counts.kept -= 1
        counts.unkept += 1
        return
      }
      shape.uses >>= 1
      places.set(key, shape)
    }
  }

  /** Returns the shape that has the place of this key: another one if this one has lost it. */
  function place(shape: Shape): Shape {
    const current = places.get(shape.key)
    if (current) return current
    if (places.size >= most) makeRoom()
    shape.placed = true
    shape.uses = 0
    places.set(shape.key, shape)
    counts.kept += 1
    return shape
  }

  function nameOf(shape: Shape): string | undefined {
    const { generation } = counts
    if (shape.name !== undefined && shape.generation === generation) return shape.name
    if (shape.uses < PREPARED_FROM) return undefined
    shape.hash ??= createHash('sha1').update(shape.template.text).digest('base64url')
    shape.generation = generation
    shape.name = generation === 0 ? shape.hash : `${shape.hash}.${generation}`
    return shape.name
  }

  function fill<Input>(key: string, make: (input: Input) => Template<Input>, input: Input): Filled {
    const shape = places.get(key) ?? newShape(key, make(input))
    const { values, record } = shape.template as Template<Input>
    return { shape, values: values.map((read) => read(input)), record: record?.(input) }
  }

  function send({ shape: filled, values, record }: Filled): Statement {
    const shape = filled.placed ? filled : place(filled)
    if (shape.uses < MOST_USES) shape.uses += 1
    const { text, kind, raw } = shape.template
    return { text, values, name: nameOf(shape), raw, resource, record, ...kind }
  }

  return {
    fill,
    send,
    serve: <Input>(key: string, make: (input: Input) => Template<Input>, input: Input): Statement =>
      send(fill(key, make, input)),
    /** A statement that no other request would use. */
    once: <Input>(make: (input: Input) => Template<Input>, input: Input): Statement => {
      const { text, values, kind, raw, record } = make(input)
      return { text, values: values.map((read) => read(input)), raw, resource, record: record?.(input), ...kind }
    },
  }
}

function newShape<Input>(key: string, template: Template<Input>): Shape {
  return { key, template, uses: 0, placed: false, hash: undefined, name: undefined, generation: 0 }
}
