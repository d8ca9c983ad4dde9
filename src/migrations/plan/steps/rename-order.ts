import type { Step } from '../../files/steps.js'

/** A change of a name. Names of one space must differ at any time. */
export interface NameChange {
  readonly space: string
  readonly from: string
  readonly to: string
}

/** A name for a moment, while two others are swapped. */
const THIRD_NAME = 'snippetctl_swapped'

/** The steps of renames in an order in which each name is free when it is given. Swapped names go through a third one. */
export function renamesInOrder<Change extends NameChange>(
  changes: readonly Change[],
  rename: (change: Change) => Step,
): readonly Step[] {
  const steps: Step[] = []
  let pending = changes.map((change) => ({ change, from: change.from }))
  let moved: Step | undefined
  while (pending.length > 0) {
    const free = pending.find(({ change }) => !pending.some((other) => isInTheWay(change, other)))
    const next = free ?? pending[0]
    if (next === undefined) break
    if (!free) {
      // All that is left are cycles: this one is open after its first name is free.
      moved = rename({ ...next.change, to: THIRD_NAME })
      pending = pending.map((each) => (each === next ? { ...each, from: THIRD_NAME } : each))
      continue
    }
    const { up, down } = rename({ ...next.change, from: next.from })
    steps.push({
      ...rename(next.change),
      up: [...(moved?.up ?? []), ...up],
      down: [...down, ...(moved?.down ?? [])],
    })
    moved = undefined
    pending = pending.filter((each) => each !== next)
  }
  return steps
}

function isInTheWay(change: NameChange, other: { readonly change: NameChange; readonly from: string }): boolean {
  return other.change !== change && other.change.space === change.space && other.from === change.to
}
