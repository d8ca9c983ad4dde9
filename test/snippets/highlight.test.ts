import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createHighlighter, escapeHtml, HIGHLIGHT_DEADLINE_MS } from '../../src/snippets/highlight.js'

const MEGABYTE = 1024 * 1024
const LANGUAGES = ['python', 'javascript', 'xml', 'markdown', 'php', 'bash', 'sql', 'css', 'yaml', 'diff', 'cobol']

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'" }

/** What a browser would show. Fails on any tag or entity that is not highlight.js's own. */
const textOf = (html: string): string => {
  const text = html.replace(/<span class="[\w .-]+">|<\/span>/g, '')
  expect(text).not.toMatch(/[<>"']/)
  return text.replace(/&([^;]*);/g, (entity, name: string) => ENTITIES[name] ?? `[no entity of ours: ${entity}]`)
}

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '</span></code></pre><script>',
  '<span class="hljs-keyword">if</span>',
  '&lt;script&gt; &amp;amp; &#x27; &nbsp;',
  "'; DROP TABLE x; --",
  '<!--',
  ']]>',
  '<![CDATA[',
  '<?php echo "<b>" ?>',
  '`${"<i>"}`',
  '"""<a>"""',
  '/* </style> */',
  '[x](javascript:alert(1))',
  '[\r', // of which highlight.js makes a line feed in CSS
  'a\r\nb\rc\n\n\td\u2028e\u00a0',
  '👩‍👩‍👧 \u202e \ufeff',
  '$&$1$`',
]

/** Text that takes the grammar of its language a second or so. */
const SLOW = [
  ['java', '$'.repeat(10_000)],
  ['livescript', '$'.repeat(10_000)],
  ['nestedtext', '\n'.repeat(10_000)],
] as const

const highlight = createHighlighter({ maxBytes: MEGABYTE, deadline: 2_000 })

describe('highlighting', () => {
  test.each([
    ['python', 'def f(): pass', 'hljs-keyword'],
    ['js', 'const x = 1', 'hljs-keyword'],
    ['JavaScript', '"text"', 'hljs-string'],
    ['html', '<b>', 'hljs-tag'],
  ])('marks %s up with the classes of highlight.js', async (language, code, name) => {
    expect(await highlight(code, language)).toContain(`<span class="${name}">`)
  })

  test.each([
    'klingon',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '../../etc',
    'python ',
    '',
    'plugin:js',
    '👩',
  ])('escapes code of the unknown language %j and adds nothing', async (language) => {
    expect(await highlight('if (a < b && "c" > \'d\') {}', language)).toBe(
      'if (a &lt; b &amp;&amp; &quot;c&quot; &gt; &#x27;d&#x27;) {}',
    )
  })

  test.each(LANGUAGES)('shows hostile code unchanged as %s', async (language) => {
    for (const code of HOSTILE) expect(textOf(await highlight(code, language))).toBe(code)
  })

  test('shows exactly the given code for any language and text', async () => {
    const code = fc.string({ unit: fc.constantFrom(...'<>&"\'/*#$`{}()[];:=\\ \n\ta1-_@!?é👩'), maxLength: 200 })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...LANGUAGES, 'none'), code, async (language, text) => {
        expect(textOf(await highlight(text, language))).toBe(text)
      }),
      { numRuns: 500 },
    )
  })

  test('returns the same from its cache, and works when that is full', async () => {
    const small = createHighlighter({ maxBytes: 1_000, deadline: 2_000 })
    const codes = Array.from({ length: 20 }, (_, number) => `x = ${number}`)
    const answers = async () => await Promise.all(codes.map((code) => small(code, 'python')))
    expect(await answers()).toEqual(await answers())
  })
})

describe('highlighting code that a grammar is slow on', () => {
  test.each(SLOW)('returns %s as escaped text and does not block the event loop', async (language, code) => {
    const guarded = createHighlighter({ maxBytes: MEGABYTE, deadline: 50 })
    let turns = 0
    const ticking = setInterval(() => turns++, 5)
    const html = await guarded(code, language)
    clearInterval(ticking)

    expect(html).toBe(escapeHtml(code))
    expect(turns).toBeGreaterThan(3)
  })

  test('does not prevent highlighting of the next code', async () => {
    const guarded = createHighlighter({ maxBytes: MEGABYTE, deadline: 1_000, patience: 60_000 })
    const [slow, next] = await Promise.all([guarded('$'.repeat(20_000), 'java'), guarded('def f(): pass', 'python')])
    expect(slow).toBe('$'.repeat(20_000))
    expect(next).toContain('hljs-keyword')
  })

  // Processed one after another until their deadlines, they would exceed the timeout of the test.
  test('gives up early if much other code is waiting', async () => {
    const guarded = createHighlighter({ maxBytes: MEGABYTE, deadline: 1_000, patience: 100 })
    const codes = Array.from({ length: 100 }, (_, number) => '$'.repeat(20_000) + number)
    const pages = await Promise.all(codes.map((code) => guarded(code, 'java')))
    expect(pages).toEqual(codes)
  }, 60_000)

  test('is not repeated for code that was slow', async () => {
    const guarded = createHighlighter({ maxBytes: MEGABYTE, deadline: 1_000 })
    const code = '$'.repeat(20_000)
    for (let request = 1; request <= 100; request += 1) expect(await guarded(code, 'java')).toBe(code)
  }, 60_000)
})

test('the documentation has the time limit', () => {
  const [, said] = /colouring takes over ([\d,]+) ms/.exec(readFileSync('docs/http.md', 'utf8')) ?? []
  expect(said).toBe(HIGHLIGHT_DEADLINE_MS.toLocaleString('en'))
})
