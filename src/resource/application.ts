/**
 * The types of one application, by the names in its `resources.yaml`. Empty until the file that `snippetctl types` writes merges into it; then the
 * compiler checks every name of a resource, field or route.
 */
export interface Application {}
