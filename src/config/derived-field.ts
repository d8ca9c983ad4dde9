import type { FieldSpec } from './model-spec.js'

/** A member of responses that is computed from stored fields, and that no request sets. */
export function derivedField(
  own: Pick<FieldSpec, 'name' | 'label' | 'type' | 'options' | 'nullable' | 'joined'>,
): FieldSpec {
  return {
    ...own,
    managed: true,
    mayBeNull: own.nullable,
    column: '',
    renamedFrom: undefined,
    primaryKey: false,
    assigned: false,
    unique: false,
    default: undefined,
    auto: undefined,
    readOnly: true,
    writeOnly: false,
    generated: false,
    private: false,
    message: undefined,
    target: undefined,
  }
}
