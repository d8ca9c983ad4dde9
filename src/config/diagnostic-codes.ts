interface CodeEntry {
  readonly title: string
  readonly explanation: string
}

/**
 * Every mistake that a configuration can have: its stable code, a title, and the long text for the reference.
 * SC1xx: the text is not usable YAML. SC2xx: a value has the wrong shape. SC3xx: the parts do not fit together.
 * SC4xx, warnings: it works, and costs more than it has to.
 */
export const DIAGNOSTICS = {
  SC101: {
    title: 'File too large',
    explanation: 'A configuration may have 1 MiB. Split the service, or look for data that strayed into the file.',
  },
  SC102: {
    title: 'Invalid UTF-8',
    explanation: 'The file is read as UTF-8 and a byte does not belong to any character. Save the file as UTF-8.',
  },
  SC103: {
    title: 'Not UTF-8',
    explanation: 'The file starts with the mark of another encoding (UTF-16 or UTF-32). Save the file as UTF-8.',
  },
  SC104: {
    title: 'Control character',
    explanation:
      'Invisible characters other than tab and line ends are refused, because no reader of the file would see them.',
  },
  SC105: {
    title: 'Nested too deep',
    explanation:
      'A configuration needs fewer than ten levels; above 20 the text is refused before it is read any further.',
  },
  SC106: {
    title: 'Anchor or alias',
    explanation:
      'Anchors (`&name`) and aliases (`*name`) are refused: each value stands where it is used. Quote text that starts with `&` or `*`.',
  },
  SC107: {
    title: 'Tag',
    explanation: 'Tags (`!name`) are refused: types follow from the configuration. Quote text that starts with `!`.',
  },
  SC108: {
    title: 'Directive',
    explanation: 'Directives (`%YAML`, `%TAG`) are refused: the file is always YAML 1.2. Remove the line.',
  },
  SC109: {
    title: 'More than one document',
    explanation: 'A configuration is one YAML document. Remove what follows the second `---` or `...`.',
  },
  SC110: {
    title: 'Merge key',
    explanation:
      'The key `<<` is refused: YAML 1.2 has no merge keys, and nothing here is inherited. Write the keys out.',
  },
  SC111: {
    title: 'Duplicate key',
    explanation: 'A mapping has the same key twice, and only one of the values could count. Remove or rename one.',
  },
  SC112: {
    title: 'Forbidden key',
    explanation: 'The keys `__proto__`, `constructor` and `prototype` are refused everywhere. Choose another name.',
  },
  SC113: {
    title: 'Key is not text',
    explanation: 'Keys are plain names. Numbers, true, false, empty keys, lists and mappings are refused as keys.',
  },
  SC114: {
    title: 'YAML syntax',
    explanation:
      'The text is not YAML. The usual causes: a tab as indentation, a missing space after a colon, an open quote or bracket, an indentation that is off by one.',
  },
  SC115: {
    title: 'Number without an exact value',
    explanation:
      'Numbers must be finite, and integers must lie within ±(2^53 − 1), so that every reader sees the same digits.',
  },
  SC116: {
    title: 'Ambiguous number',
    explanation:
      'Numbers with a leading zero are octal to some readers and decimal to others. Write the number without the zero, or quote it.',
  },
  SC117: {
    title: 'Too many values',
    explanation: 'The file has more tokens than any configuration needs. Look for data that strayed into the file.',
  },
  SC201: {
    title: 'Unknown key',
    explanation: 'The key is not known at this place. Own notes may stand under keys that start with `x-`.',
  },
  SC202: { title: 'Missing key', explanation: 'A key that has no default is missing.' },
  SC203: {
    title: 'Wrong kind of value',
    explanation:
      'The value is, for example, text where a number belongs. In YAML 1.2 only `true` and `false` are booleans; `yes`, `no`, `on` and `off` are text.',
  },
  SC204: { title: 'Value not allowed', explanation: 'The value is not one of the fixed set that is allowed here.' },
  SC205: {
    title: 'Unknown field type',
    explanation: 'What stands after `type:` is not one of the field types.',
  },
  SC206: {
    title: 'Malformed name or path',
    explanation:
      'Names are a lower-case letter followed by at most 62 lower-case letters, digits and underscores; PostgreSQL keeps no more than 63 bytes. Paths start and end with a slash.',
  },
  SC207: {
    title: 'Value out of range',
    explanation: 'A number, a length or the size of a list is outside of its limits.',
  },
  SC208: {
    title: 'No configuration',
    explanation: 'The file is empty, or its content is not a mapping. A configuration starts with `version: 1`.',
  },
  SC301: {
    title: 'No primary key',
    explanation:
      'A model says what identifies its records: a field with `primary_key: true`, or several fields named by `primary_key: [order, product]`. Records without a key, which can only be listed, have `primary_key: none`.',
  },
  SC302: {
    title: 'Two primary keys',
    explanation:
      'A model has one primary key: one field with `primary_key: true`, or the fields that `primary_key` of the model names. For a combination that must be unique, declare an index with `unique: true`.',
  },
  SC303: {
    title: 'Field cannot be a primary key',
    explanation:
      'Primary keys stand in paths, so their values have one spelling, are never null and never hidden. A key that the server assigns has no default.',
  },
  SC304: {
    title: 'Contradiction',
    explanation:
      'Two keys cannot both be meant, for example a minimum above the maximum, or `read_only` with `write_only`.',
  },
  SC305: { title: 'Unknown field', explanation: 'The model has no field of this name.' },
  SC306: { title: 'Unknown model', explanation: 'No model of this name is declared under `models`.' },
  SC307: {
    title: 'Unknown route',
    explanation:
      'A link needs the name of a route that answers one object of the related model: `<resource>-detail` of a resource that offers `retrieve`.',
  },
  SC308: {
    title: 'Table used twice',
    explanation:
      'Two models cannot share a table, and `snippetctl_migrations` and `snippetctl_answers` are where applied migrations and answers to requests with an `Idempotency-Key` are kept. Give the model another `table`.',
  },
  SC309: {
    title: 'Path used twice',
    explanation: 'Two resources cannot share a path, and neither can two mounts, nor a mount and the prefix.',
  },
  SC310: {
    title: 'Column used twice',
    explanation:
      'A relation `author` is stored in the column `author_id`, unless it has a `column`; no two fields can share a column. PostgreSQL has columns of its own in every table: `ctid`, `tableoid`, `xmin`, `xmax`, `cmin` and `cmax`.',
  },
  SC311: {
    title: 'Field cannot be used here',
    explanation:
      'Fields that answers never show cannot be filtered or ordered by, since that would reveal them; some types have no order or no comparisons; and a cursor holds the values of the fields in the order, so they need a length that fits into a link.',
  },
  SC312: { title: 'Unknown lookup', explanation: 'The type of the field does not offer this comparison.' },
  SC313: {
    title: 'Reserved parameter name',
    explanation:
      'The name is one that lists use themselves, such as `page` or `ordering`, so a filter of that name could never be reached.',
  },
  SC314: { title: 'Default does not fit', explanation: 'The default breaks a rule of its own field.' },
  SC315: {
    title: 'Not for this type',
    explanation: 'The function or the automatic value does not produce values of this field type.',
  },
  SC316: { title: 'Repeated entry', explanation: 'The same entry stands twice in a list.' },
  SC317: {
    title: 'Field can never be written',
    explanation:
      'A resource creates rows of the model, but this field needs a value and nobody can give it one. Make it nullable, or give it a default.',
  },
  SC318: {
    title: 'Name too long',
    explanation:
      'PostgreSQL keeps 63 bytes of a name; the column of a relation is its name and `_id`, unless it has a `column`.',
  },
  SC319: {
    title: 'Setting without effect',
    explanation:
      'Something else, in the same mapping or the dialect of the resource, turns this key off, so it could never have an effect.',
  },
  SC320: {
    title: 'Operation missing',
    explanation:
      'Something relies on an operation that the resource does not offer, or an operation on a primary key that the records do not have.',
  },
  SC321: {
    title: 'Expansion leads nowhere',
    explanation:
      'Related records are shown as a resource shows them, so their model needs one that reads, and the file says which where there are several. Of a path with dots, each step is declared too.',
  },
  SC322: {
    title: 'Place of nulls without effect',
    explanation:
      'Under `nulls` stand nullable fields by which lists can be ordered, in `orderable` or `default_order`. Any other field has no nulls to put first or last.',
  },
  SC323: {
    title: 'Message belongs elsewhere',
    explanation:
      'Under `messages` of a model stand constraints that migrations written by hand have made, unique fields and relations. A unique index and the rules of a field have a `message` where they are declared.',
  },
  SC351: { title: 'Unknown setting', explanation: 'No plugin reads a setting of this name.' },
  SC352: { title: 'Setting does not fit', explanation: 'The plugin that reads this setting declares other values.' },
  SC353: {
    title: 'Plugin cannot be loaded',
    explanation: 'The file is missing, fails while it is loaded, or does not export a plugin.',
  },
  SC354: { title: 'Routes clash', explanation: 'Two routes cannot share a method and a path, nor one name two paths.' },
  SC355: {
    title: 'Computed field without a function',
    explanation:
      'The file declares a field that a plugin computes, and no plugin does: it calls `compute` while it is loaded.',
  },
  SC401: {
    title: 'Index missing',
    explanation:
      'Without an index, a filter reads the whole table and an order sorts it for every page. Add the line that the help shows, and write the migration.',
  },
  SC402: {
    title: 'Index not needed',
    explanation:
      'No list filters or orders by the first field of the index, or another index starts with the same fields. Each write has to keep it up to date all the same.',
  },
  SC403: {
    title: 'Index missing in the database',
    explanation:
      'Found by `check --database`: the file declares or implies the index, and the database does not have it. Either no migration makes it yet, or it was dropped by hand.',
  },
  SC404: {
    title: 'Index not valid',
    explanation:
      'Found by `check --database`: `create index concurrently` failed or was interrupted. PostgreSQL keeps such an index up to date and never reads it. Build it again, or drop it.',
  },
  SC405: {
    title: 'Index of the database not needed',
    explanation:
      'Found by `check --database`: an index that the file does not declare, by which no list reads and PostgreSQL has not read either, or that is the start of another one.',
  },
  SC406: {
    title: 'Records longer than any body',
    explanation:
      'The longest record that the rules of the fields allow takes more bytes than `api.max_body` lets a body have. Such a record is answered 413.',
  },
  SC407: {
    title: 'Index too small for its values',
    explanation:
      'PostgreSQL refuses a row that needs more than 2,704 bytes in an index, and a character takes up to four. Such a value is answered with 400; a smaller `max` says so beforehand.',
  },
  SC408: {
    title: 'Constraint missing in the database',
    explanation:
      'Found by `check --database`: a name under `messages` of a model that no constraint or unique index of its table has, nor a foreign key that refers to it. No client ever reads the message.',
  },
  SC409: {
    title: 'Table of others differs',
    explanation:
      'Found by `check --database`: a table or view with `managed: false` is not as its model says. It is served as long as the columns are there and hold values of these types.',
  },
  SC410: {
    title: 'Key does not identify records',
    explanation:
      'Found by `check --database`: several records have the same values in the fields of the primary key, or null. A path would lead to any of them, and a change would change all.',
  },
} as const satisfies Readonly<Record<string, CodeEntry>>

export type DiagnosticCode = keyof typeof DIAGNOSTICS
