/** The default label of a field: the words of its name, capitalised: `Display name` for `display_name` and `displayName`. */
export function labelOf(name: string): string {
  const words = name
    .replaceAll('_', ' ')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    // Acronyms stay: `Customer ID`.
    .replaceAll(/ [A-Z](?![A-Z])/g, (start) => start.toLowerCase())
  return words.charAt(0).toUpperCase() + words.slice(1)
}
