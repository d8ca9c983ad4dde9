/** `book_copy-list` → `BookCopyList` */
export function toPascal(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
  return words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')
}

/** `books-list` → `booksList` */
export function toCamel(text: string): string {
  const pascal = toPascal(text)
  return pascal.slice(0, 1).toLowerCase() + pascal.slice(1)
}

/** Makes names unique by appending a number to a name that is already taken. */
export function uniqueNames(taken: readonly string[] = []): (wanted: string) => string {
  const given = new Set(taken)
  return (wanted) => {
    let name = wanted
    for (let number = 2; given.has(name); number += 1) name = `${wanted}_${number}`
    given.add(name)
    return name
  }
}
