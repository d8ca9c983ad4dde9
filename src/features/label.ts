import type { FieldSpec } from '../config/model-spec.js'
import { whyHidden } from '../config/parse/drafts.js'
import { checkFieldName } from '../config/parse/field-names.js'
import { doc } from '../config/schema/parts.js'
import type { Feature } from './feature.js'

export interface LabelSpec {
  /** The field by which people know a record; undefined if the configuration names none. */
  readonly labelField: FieldSpec | undefined
}

/** `label_field: name`: pages show the name of a record beside its key. */
export const label: Feature<LabelSpec> = {
  keys: {
    label_field: doc(
      { type: 'string' },
      'The field by which people know a record: Explore shows it beside the key. The default is the first text field outside the key.',
      'label_field: name',
    ),
  },

  synonyms: { label_field: ['display_field', 'title_field', 'label'] },

  parse({ path, model, given, has }, { report }) {
    const name = given('label_field')
    const at = { path: [...path, 'label_field'] }
    if (model && has('label_field') && typeof name === 'string' && checkFieldName(model, name, at, report)) {
      const field = model.fields.get(name)
      const reason = field && whyHidden(field)
      if (reason !== undefined)
        report.add({ ...at, code: 'SC311', message: `\`label_field\` cannot be \`${name}\`: ${reason}` })
    }
    return ({ field }) => ({ labelField: typeof name === 'string' ? field(name) : undefined })
  },
}
