/** Text as code, also where it has backquotes or stands in a table. */
export function code(text: string): string {
  const mark = text.includes('`') ? '``' : '`'
  return `${mark}${text.replaceAll('|', '\\|')}${mark}`
}

/** A table; an empty cell stays empty. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

export function codeBlock(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``
}
