/** The rows of every run. Row `n` is the same in each table that has it: its language and code go by `n` in turn. */

/** Pieces of code of about 400 characters, by language; `{n}` is the number of the row. */
const CODES: Readonly<Record<string, string>> = {
  python: `# sample {n}
import json
from pathlib import Path


def load(path: Path, limit: int = {n}) -> list[dict]:
    """Reads at most so many records, and skips those that are empty."""
    records = []
    for line in path.read_text().splitlines():
        record = json.loads(line)
        if not record or len(records) >= limit:
            continue
        records.append({key: value for key, value in record.items() if value is not None})
    return sorted(records, key=lambda record: record["id"])
`,
  javascript: `// sample {n}
import { readFile } from 'node:fs/promises'

/** Reads at most so many records, and skips those that are empty. */
export async function load(path, limit = {n}) {
  const text = await readFile(path, 'utf8')
  const records = text.split('\\n').filter((line) => line !== '' && line !== '{}')
  const parsed = records.slice(0, limit).map((line) => JSON.parse(line))
  return parsed.sort((a, b) => a.id - b.id).map(({ id, ...rest }) => ({ id: \`#\${id}\`, ...rest }))
}
`,
  go: `// sample {n}
package store

import "sort"

type Record struct {
	ID   int64             \`json:"id"\`
	Tags map[string]string \`json:"tags,omitempty"\`
}

// First returns at most n records in the order of their ids, without those that have no tags.
func First(records []Record, n int) []Record {
	kept := make([]Record, 0, {n})
	for _, r := range records {
		if len(r.Tags) > 0 {
			kept = append(kept, r)
		}
	}
	sort.Slice(kept, func(i, j int) bool { return kept[i].ID < kept[j].ID })
	return kept[:min(n, len(kept))]
}
`,
  rust: `// sample {n}
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub id: u64,
    pub tags: BTreeMap<String, String>,
}

/// At most so many records in the order of their ids, without those that have no tags.
pub fn first(records: &[Record], limit: usize) -> Vec<&Record> {
    let mut kept: Vec<&Record> = records.iter().filter(|r| !r.tags.is_empty()).collect();
    kept.sort_by_key(|r| r.id + {n});
    kept.truncate(limit);
    kept
}
`,
  sql: `-- sample {n}
with recent as (
  select author_id, count(*) as posts, max(created_at) as latest
  from posts
  where created_at > now() - interval '30 days' and state <> 'draft'
  group by author_id
  having count(*) > {n}
)
select a.id, a.name, r.posts, r.latest, rank() over (order by r.posts desc, a.id) as place
from authors a
join recent r on r.author_id = a.id
where a.name like 'A%'
order by place
limit 10;
`,
  bash: `#!/usr/bin/env bash
# sample {n}
set -euo pipefail

target="\${1:?usage: backup TARGET}"
keep={n}

for database in $(psql -Atc "select datname from pg_database where not datistemplate"); do
  file="$target/$database-$(date +%F).dump"
  if [[ -e "$file" ]]; then
    echo "skipped: $file" >&2
    continue
  fi
  pg_dump --format=custom --file="$file" "$database" && echo "written: $file"
done
ls -1t "$target" | tail -n "+$keep" | xargs -r rm --
`,
  java: `// sample {n}
package store;

import java.util.*;
import java.util.stream.Collectors;

public final class Records {
    private static final int LIMIT = {n};

    /** At most so many records in the order of their ids, without those that have no tags. */
    public static List<Record> first(Collection<Record> records) {
        return records.stream()
            .filter(record -> !record.tags().isEmpty())
            .sorted(Comparator.comparing(Record::id))
            .limit(LIMIT)
            .collect(Collectors.toList());
    }
}
`,
  css: `/* sample {n} */
:root {
  --gap: calc(4px * {n});
  --ink: #1d2129;
}

.card > header:not(:empty) {
  display: grid;
  grid-template-columns: auto 1fr;
  gap: var(--gap);
  color: var(--ink);
  border-bottom: 1px solid rgb(0 0 0 / 12%);
}

@media (prefers-color-scheme: dark) {
  .card > header::before {
    content: "\\201C";
    background: url("data:image/gif;base64,R0lGODlhAQABAAAAACw=") no-repeat;
  }
}
`,
}

export const LANGUAGES: readonly string[] = Object.freeze(Object.keys(CODES))

export function languageOf(row: number): string {
  return LANGUAGES[row % LANGUAGES.length] ?? ''
}

/** SQL that fills an empty table with `rows` rows, one second apart. */
export function insertRows(rows: number): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`
  const codes = LANGUAGES.map((language) => `replace(${quoted(CODES[language] ?? '')}, '{n}', n::text)`)
  const languages = LANGUAGES.map(quoted)
  const choose = (values: readonly string[]) =>
    `case n % ${LANGUAGES.length} ${values.map((value, index) => `when ${index} then ${value}`).join(' ')} end`
  return `
    insert into snippets (title, code, language, created_at)
    select 'Sample ' || n, ${choose(codes)}, ${choose(languages)}, timestamptz '2024-01-01 00:00:00.123456Z' + n * interval '1 second'
    from generate_series(1, ${rows}) n order by n`
}

/** What creates and updates send. */
export const NEW_CODE =
  'def area(width: float, height: float) -> float:\n    """Of a rectangle: \\"{id}\\"."""\n    return width * height\n'
