import { inDependencyOrder } from '../../../foundation/dependency-order.js'
import { tableSql } from '../../../fields/table-name.js'
import { risky, safe, type Step } from '../../files/steps.js'
import { find, has, type Named } from '../compare/pair.js'
import { inherited } from '../view-parts.js'
import { type CatalogView, createView, dropView, replaceView, type WantedView } from '../views.js'

/** The views of both sides. */
interface ViewSides {
  readonly wanted: readonly WantedView[]
  /** All views that the files create, including hand-written ones. */
  readonly from: readonly CatalogView[]
  /** The same before the renames of the plan. */
  readonly original: readonly CatalogView[]
  /** `wanted`, as the same server describes it. */
  readonly to: readonly CatalogView[]
  /** The names of the objects that migrations created for resources.yaml. */
  readonly owned: ReadonlySet<string>
}

/** Steps before and after the steps of the tables. */
interface ViewSteps {
  readonly first: readonly Step[]
  readonly last: readonly Step[]
}

/**
 * Plans the views. A view that reads a changed or dropped column is dropped first and recreated at the end, and so are the views
 * that read it.
 * @param tables the steps of the tables
 */
export function viewSteps({ wanted, from, original, to, owned }: ViewSides, tables: readonly Step[]): ViewSteps {
  const ours = from.filter(({ name }) => owned.has(name) || has(wanted, name))
  const gone = ours.filter(({ name }) => !has(wanted, name))
  const changed = wanted.filter(({ name }) => find(from, name) && find(from, name)?.query !== find(to, name)?.query)
  const inPlace = changed.filter(({ name }) => hasSameColumns(find(from, name), find(to, name)))
  const blocking = ours.filter(
    ({ name, reads }) =>
      has(gone, name) ||
      (has(changed, name) && !has(inPlace, name)) ||
      reads.some((table) => tables.some((step) => isInTheWay(step, table))),
  )
  const dropped = withReaders(blocking, ours)
  const made = wanted.filter(({ name }) => !find(from, name) || has(dropped, name))
  const replaced = inPlace.filter(({ name }) => !has(dropped, name))
  const inOrder = <View extends Named>(views: readonly View[], known: readonly CatalogView[]) =>
    inDependencyOrder(views, ({ name }) => views.filter((other) => find(known, name)?.reads.includes(other.name)))
  return {
    // They are dropped before the renames, so `down` creates them after the renames are reverted.
    first: inOrder(dropped, dropped)
      .toReversed()
      .map((view) => dropStep(find(original, view.name) ?? view, has(made, view.name))),
    last: inOrder(wanted, to).flatMap((view) => {
      const [former, later] = [find(from, view.name), find(to, view.name)]
      if (has(made, view.name)) return [addStep(view, former, later)]
      return former && later && has(replaced, view.name) ? [changeStep(view, former, later)] : []
    }),
  }
}

/** Whether PostgreSQL permits a step on a table only without the views that read the table. */
function isInTheWay({ up, down }: Step, table: string): boolean {
  const start = `alter table ${tableSql(table)} `
  const isRetyping = (text: string) => text.startsWith(`${start}alter column`) && / type /.test(text)
  const isDropping = (text: string) =>
    text.startsWith(`${start}drop column`) || text === `drop table ${tableSql(table)}`
  return [...up, ...down].some(isRetyping) || up.some(isDropping)
}

/** Views, and all views that read them. */
export function withReaders(views: readonly CatalogView[], all: readonly CatalogView[]): readonly CatalogView[] {
  const readers = all.filter((view) => !views.includes(view) && view.reads.some((name) => has(views, name)))
  return readers.length === 0 ? views : withReaders([...views, ...readers], all)
}

function hasSameColumns(one: CatalogView | undefined, other: CatalogView | undefined): boolean {
  return one?.columns.join() === other?.columns.join()
}

function described(columns: readonly string[] = []): string {
  return `view (${columns.join(', ')})`
}

/** @param former the view that it replaces, if any: the new one keeps its options and parts */
function addStep(view: WantedView, former: CatalogView | undefined, made: CatalogView | undefined): Step {
  const { options, parts, lost } = made && former ? inherited(former, made) : { options: [], parts: [], lost: [] }
  return {
    change: 'add',
    subject: view.name,
    detail: described(made?.columns),
    ...safetyOf(lost),
    owns: [view.name],
    up: [createView({ ...view, options }), ...parts.map(({ sql }) => sql)],
    down: [dropView(view)],
  }
}

function safetyOf(lost: readonly string[]): Pick<Step, 'safety' | 'risk'> {
  return lost.length === 0 ? safe : risky(`the view loses: ${lost.join('; ')}`)
}

function dropStep(view: CatalogView, isMadeAgain: boolean): Step {
  return {
    change: 'drop',
    subject: view.name,
    detail: isMadeAgain ? 'view, recreated at the end' : 'view',
    ...safe,
    up: [dropView(view)],
    down: [createView(view), ...view.parts.map(({ sql }) => sql)],
  }
}

function changeStep(view: WantedView, former: CatalogView, made: CatalogView): Step {
  const { options, lost } = inherited(former, made)
  return {
    change: 'change',
    subject: view.name,
    detail: 'view, new query',
    ...safetyOf(lost),
    owns: [view.name],
    up: [replaceView({ ...view, options })],
    down: [replaceView(former)],
  }
}
