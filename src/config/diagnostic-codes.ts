import { type CodeEntry, WARNINGS } from './warning-codes.js'

/**
 * Every mistake that a configuration can have: its stable code, a title, and the long text for the reference.
 * SC1xx: the text is not usable YAML. SC2xx: a value has the wrong shape. SC3xx: the parts do not fit together.
 * SC4xx, warnings: it works, but costs more or allows more than it has to, or part of it has no effect.
 */
export const DIAGNOSTICS = {
  SC101: {
    title: 'File too large',
    explanation:
      'A configuration may be at most 4 MiB long. Split the service, or look for data that strayed into the file.',
  },
  SC102: {
    title: 'Invalid UTF-8',
    explanation: 'The file is read as UTF-8 and a byte does not belong to any character. Save the file as UTF-8.',
  },
  SC103: {
    title: 'Not UTF-8',
    explanation:
      'The file starts with the byte order mark of another encoding (UTF-16 or UTF-32). Save the file as UTF-8.',
  },
  SC104: {
    title: 'Control character',
    explanation:
      'Invisible characters other than tabs and line ends are rejected, because nobody who reads the file would see them.',
  },
  SC105: {
    title: 'Nested too deep',
    explanation:
      'A configuration needs fewer than ten levels; text with more than 20 is rejected before the rest is parsed.',
  },
  SC106: {
    title: 'Anchor or alias',
    explanation:
      'Anchors (`&name`) and aliases (`*name`) are rejected: write each value where it is used. Quote text that starts with `&` or `*`.',
  },
  SC107: {
    title: 'Tag',
    explanation: 'Tags (`!name`) are rejected: types follow from the configuration. Quote text that starts with `!`.',
  },
  SC108: {
    title: 'Directive',
    explanation: 'Directives (`%YAML`, `%TAG`) are rejected: the file is always YAML 1.2. Remove the line.',
  },
  SC109: {
    title: 'More than one document',
    explanation:
      'A configuration is one YAML document. Remove the `---` or `...` between the first document and the second, and everything after it.',
  },
  SC110: {
    title: 'Merge key',
    explanation:
      'The key `<<` is rejected: YAML 1.2 has no merge keys, and nothing here is inherited. Write the keys out.',
  },
  SC111: {
    title: 'Duplicate key',
    explanation: 'A mapping has the same key twice, and only one of the values could apply. Remove or rename one.',
  },
  SC112: {
    title: 'Forbidden key',
    explanation: 'The keys `__proto__`, `constructor` and `prototype` are rejected everywhere. Choose another name.',
  },
  SC113: {
    title: 'Key is not text',
    explanation: 'Keys are plain names. Numbers, true, false, empty keys, lists and mappings are rejected as keys.',
  },
  SC114: {
    title: 'YAML syntax',
    explanation:
      'The text is not YAML. The usual causes: a tab as indentation, a missing space after a colon, an open quote or bracket, or indentation that is off by one.',
  },
  SC115: {
    title: 'Number without an exact value',
    explanation:
      'Integers must lie within ±(2^53 − 1), and other numbers must be finite and have at most 15 digits, so that every reader sees the same digits.',
  },
  SC116: {
    title: 'Ambiguous number',
    explanation:
      'Numbers with a leading zero are octal to some readers and decimal to others. Write the number without the zero, or quote it.',
  },
  SC117: {
    title: 'Too many values',
    explanation:
      'The file has more than 2,000,000 tokens: values, keys and punctuation. Remove data that is not configuration.',
  },
  SC201: {
    title: 'Unknown key',
    explanation: 'The key is not known at this place. Keys that start with `x-` are free for notes.',
  },
  SC202: { title: 'Missing key', explanation: 'A key that has no default is missing.' },
  SC203: {
    title: 'Wrong kind of value',
    explanation:
      'The value is, for example, text where a number belongs. In YAML 1.2 only `true` and `false` are booleans; `yes`, `no`, `on` and `off` are text.',
  },
  SC204: {
    title: 'Value not allowed',
    explanation: 'Only certain values are allowed here, and the value is not one of them.',
  },
  SC205: {
    title: 'Unknown field type',
    explanation: 'The value of `type` is not one of the field types, which `check` lists.',
  },
  SC206: {
    title: 'Malformed name or path',
    explanation:
      'Names are a lower-case letter followed by at most 62 lower-case letters, digits and underscores; PostgreSQL keeps no more than 63 bytes. Names of fields may also have upper-case letters, but cannot be the names of members that every JavaScript object has, such as `toString`. Paths start and end with a slash.',
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
      'A model declares what identifies its records: a field with `primary_key: true`, or several fields, such as `primary_key: [order, product]`. Records without a key, which can only be listed, have `primary_key: none`.',
  },
  SC302: {
    title: 'Two primary keys',
    explanation:
      'A model has one primary key: one field with `primary_key: true`, or the fields that `primary_key` of the model names. For a combination that must be unique, declare an index with `unique: true`.',
  },
  SC303: {
    title: 'Field cannot be a primary key',
    explanation:
      'Primary keys are part of URLs, so each value has exactly one spelling, and is never null or hidden. A key that the server assigns has no default.',
  },
  SC304: {
    title: 'Contradiction',
    explanation:
      'Two keys contradict each other, for example a minimum above the maximum, or `read_only` with `write_only`.',
  },
  SC305: { title: 'Unknown field', explanation: 'The model has no field of this name.' },
  SC306: { title: 'Unknown model', explanation: 'No model of this name is declared under `models`.' },
  SC307: {
    title: 'Unknown route',
    explanation:
      'A link needs the name of a route that returns one record of the related model: `<resource>-detail` of a resource with the operation `retrieve`.',
  },
  SC308: {
    title: 'Table used twice',
    explanation:
      'Two models cannot share a table, and the names of tables of the service itself are reserved: `snippetctl_migrations` stores the applied migrations, `snippetctl_answers` the responses to requests with an `Idempotency-Key`, and `snippetctl_keys` the API keys. Give the model another `table`.',
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
      'Lists cannot be filtered or ordered by fields that responses never include, since that would reveal them. Some types have no order or no comparisons. A cursor contains the values of the fields in the order, so these must be short enough for a link.',
  },
  SC312: { title: 'Unknown lookup', explanation: 'The type of the field does not offer this comparison.' },
  SC313: {
    title: 'Reserved parameter name',
    explanation:
      'Lists use the name themselves, such as `page` or `ordering`, so the filter could never be used. Rename the field, and keep its column with `column`.',
  },
  SC314: { title: 'Default does not fit', explanation: 'The default breaks a rule of its own field.' },
  SC315: {
    title: 'Not for this type',
    explanation: 'The function or the automatic value does not produce values of this field type.',
  },
  SC316: { title: 'Repeated entry', explanation: 'A list contains the same entry twice.' },
  SC317: {
    title: 'Field can never be written',
    explanation:
      'A resource creates rows of the model, but this field needs a value and clients cannot send one. Make it nullable, or give it a default.',
  },
  SC318: {
    title: 'Name too long',
    explanation:
      'PostgreSQL keeps 63 bytes of a name; the column of a relation is its name and `_id`, unless it has a `column`.',
  },
  SC319: {
    title: 'Setting without effect',
    explanation:
      'The key does nothing here, because of another key or a missing one, the operations, or the dialect of the resource.',
  },
  SC320: {
    title: 'Operation missing',
    explanation:
      'A setting needs an operation that the resource does not have, an operation or a dialect needs a primary key that the model does not have, or a resource of a view does not say which operations it has.',
  },
  SC321: {
    title: 'Expansion without a resource',
    explanation:
      'Related records have the form of a resource, so their model needs a resource that lists or retrieves; if there are several, name one. Each step of a path with dots must be declared too.',
  },
  SC322: {
    title: 'Order of nulls without effect',
    explanation:
      '`nulls` only applies to nullable fields in `orderable` or `default_order`. Other fields have no nulls to put first or last.',
  },
  SC323: {
    title: 'Message belongs elsewhere',
    explanation:
      '`messages` of a model is for unique fields, relations, and constraints from migrations written by hand. For unique indexes and the rules of a field, set `message` in their own declaration.',
  },
  SC330: {
    title: 'Access rules without `auth`',
    explanation: '`access` names callers, so it needs `auth`, which says how they sign in.',
  },
  SC331: {
    title: 'Value does not fit the rule',
    explanation:
      'The value of a condition must have the type of its field: a literal, or a variable of that type, such as `$sub`. Null is compared by `isnull`. A literal of `set` must follow the rules of its field, too.',
  },
  SC332: {
    title: 'Part of a grant without effect',
    explanation:
      '`becomes` restricts changed records, so it needs `update` or `partial_update` in `may`, which `change` means; `set` sets values of new or changed records, so it needs `create` or `change`. Remove the key, or allow the operation.',
  },
  SC333: {
    title: 'Unknown role or operation',
    explanation:
      'A grant is to `anyone`, to `signed_in`, or to a role of `auth.roles`, and allows operations that the resource has.',
  },
  SC334: {
    title: 'Grants that do not fit together',
    explanation:
      'The grants of `list`, and those of `retrieve`, may show up to four different sets of fields. `default_order` and cursors may only have fields that all grants of `list` show: other fields would reveal values that a caller may not see.',
  },
  SC335: {
    title: 'Keys cannot be read',
    explanation:
      'The file that `auth.jwt.keys` names is missing or has no usable public keys. It must have the keys of the issuer as a key set (RFC 7517) or as PEM; `check` and the service read it.',
  },
  SC351: { title: 'Unknown setting', explanation: 'No plugin reads a setting of this name.' },
  SC352: {
    title: 'Setting does not fit',
    explanation: 'The value does not match the schema that a plugin declares for this setting.',
  },
  SC353: {
    title: 'Plugin cannot be loaded',
    explanation: 'The file is missing, fails while it is loaded, or does not export a plugin.',
  },
  SC354: {
    title: 'Routes clash',
    explanation: 'Two routes cannot share a method and a path, and one name cannot have two paths.',
  },
  SC355: {
    title: 'Computed field without a function',
    explanation:
      'The file declares a computed field, but no plugin computes it. The plugin must call `compute` while it loads.',
  },
  ...WARNINGS,
} as const satisfies Readonly<Record<string, CodeEntry>>

export type DiagnosticCode = keyof typeof DIAGNOSTICS
