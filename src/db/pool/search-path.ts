/**
 * Makes a session look for temporary tables last. By default they come first: a table that a function leaves on a shared connection would take the place
 * of a served table of the same name, and later requests would lose the rows that they create. Without a usable schema, new tables would be temporary.
 */
export const TEMPORARY_LAST = String.raw`
  select set_config('search_path', current_setting('search_path') || ', pg_temp', false)
    where current_schema() is not null and current_setting('search_path') !~ '\mpg_temp\M'`
