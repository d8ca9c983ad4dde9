import type { Resource } from '../resource/resource.js'
import type { Context, Handler } from './route.js'

/** A generated handler whose writes are undone when their answers cannot be made, because code of a plugin makes a part of them. */
export function undoable(handle: Handler, resource: Resource): Handler {
  const documents = (context: Context): ReturnType<Context['documents']> => ({
    ...context.documents(resource),
    create: (...given) => context.transaction((inside) => inside.documents(resource).create(...given)),
    update: (...given) => context.transaction((inside) => inside.documents(resource).update(...given)),
    take: (...given) => context.transaction((inside) => inside.documents(resource).take(...given)),
  })
  return (context) =>
    handle(
      Object.freeze({
        ...context,
        documents: (asked: Resource) => (asked === resource ? documents(context) : context.documents(asked)),
      }),
    )
}
