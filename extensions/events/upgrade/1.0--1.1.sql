/* Changes of tables, types and signatures since 1.0: see CONTRIBUTING.md. */
DROP FUNCTION twtasks_internal.list_again(text[], text[], text);
DROP FUNCTION twtasks_internal.give_each(text[], text[], boolean[]);
