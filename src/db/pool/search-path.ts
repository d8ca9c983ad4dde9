/**
 * Makes a session look for temporary tables last. By default they come first: a table that a function leaves on a shared connection would take the place
 * of a served table of the same name, and later requests would lose the rows that they create. Without a usable schema, new tables would be temporary. A
 * role that may not make temporary tables can call a function that does so with the rights of another role.
 */
export const TEMPORARY_LAST = String.raw`
  select set_config('search_path', current_setting('search_path') || ', pg_temp', false)
    where case when current_setting('search_path') ~ '\mpg_temp\M' then false else current_schema() is not null end`
