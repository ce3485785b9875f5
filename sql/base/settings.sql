/*
 * twtasks.is_enabled()
 *
 *		Whether tasks may be grabbed: the setting twtasks.enabled.
 *
 * Returns
 *		boolean
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.is_enabled()
RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_is_enabled';

/*
 * twtasks_internal.keep_finished()
 *
 *		How long finished tasks are kept: the setting twtasks.keep_finished.
 */
CREATE FUNCTION twtasks_internal.keep_finished()
RETURNS interval
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_keep_finished_interval';

/*
 * twtasks_internal.keep_attempts()
 *
 *		How long attempts that did not succeed are kept: the setting
 *		twtasks.keep_attempts; 0: none is written.
 */
CREATE FUNCTION twtasks_internal.keep_attempts()
RETURNS interval
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_keep_attempts_interval';

/*
 * twtasks.queue_kind()
 *
 *		How triggers leave this server: 'ring' when twtasks was preloaded
 *		(shared_preload_libraries), else 'notify'.
 *
 * Returns
 *		text
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.queue_kind()
RETURNS text
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_queue_kind';
