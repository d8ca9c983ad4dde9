/**
 * The types of one application, by the names in its `resources.yaml`. It is empty until the file that `snippetctl types` writes merges into
 * it; then every name of a resource, field or route is checked by the compiler.
 */
export interface Application {}
