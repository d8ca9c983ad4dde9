const LINK = /\]\(([\w./-]+\.[a-z]+)(#[^)]*)?\)/g
const IMAGE = /^!\[[^\]]*\]\([^)]*\)\n/gm
const MARK = /^<!-- .+ -->\n\n?/gm

/** Reads a file of the repository by its path. */
type Read = (file: string) => string

/**
 * The documentation as one text for programs that read it whole (llmstxt.org): what it is, a list of the pages, and the pages
 * themselves, in the order of their index.
 */
export function writeLlms(read: Read): string {
  const index = read('docs/README.md')
  const [, pitch = ''] = read('README.md').split('\n\n')
  const pages = [...index.matchAll(/^- \[[^\]]+\]\(([a-z-]+\.md)\): (.+)$/gm)].map(([, name = '', about = '']) => ({
    file: `docs/${name}`,
    about,
  }))
  const about = index.slice(index.indexOf('\n## ') + 1)
  return [
    `# snippetctl\n\n> ${pitch}\n`,
    `## Pages\n\n${pages.map(({ file, about: words }) => `- [${file}](${file}): ${words}`).join('\n')}\n`,
    plain(about),
    ...pages.map(({ file }) => `---\n\n${plain(read(file))}`),
  ].join('\n')
}

/** A page without pictures and marks, its links from the root of the repository. */
function plain(page: string): string {
  return page
    .replaceAll(IMAGE, '')
    .replaceAll(MARK, '')
    .replaceAll(
      LINK,
      (_, file: string, anchor = '') => `](${file.startsWith('../') ? file.slice(3) : `docs/${file}`}${anchor})`,
    )
}
