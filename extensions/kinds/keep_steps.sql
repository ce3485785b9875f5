/*
 * twtasks_internal.keep_step_policy()
 *
 *		Refuses changes of the policies on which the kinds of a type rely: a step that
 *		was tried twice, or taken over early, could act twice.
 *
 * Errors
 *		55000			the policy is a kind's
 */
CREATE FUNCTION twtasks_internal.keep_step_policy()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name CONSTANT text := (SELECT k.name FROM twtasks.kind k WHERE k.type = OLD.pattern);
	kept CONSTANT text[] := '{on_end,retry,retry_function,reset_tries,stuck,stuck_function,takeover}';
BEGIN
	IF name IS NOT NULL AND (TG_OP = 'DELETE' OR OLD.pattern <> NEW.pattern
		OR EXISTS (SELECT FROM unnest(kept) o WHERE OLD.options->o IS DISTINCT FROM NEW.options->o)) THEN
		RAISE EXCEPTION 'these policies of type "%" belong to kind "%"', OLD.pattern, name
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Change the kind with twtasks.configure_kind(). Other options of the type can be changed.';
	END IF;
	RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER keep_step_policy BEFORE UPDATE OR DELETE ON twtasks.type_policy
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.keep_step_policy();
ALTER TRIGGER keep_step_policy ON twtasks.type_policy DEPENDS ON EXTENSION twtasks_kinds;

/*
 * twtasks_internal.keep_step_ended()
 *
 *		Refuses to reopen a step: its identifier is already at a later step, and
 *		both would act.
 *
 * Errors
 *		55000			the task is a step
 */
CREATE FUNCTION twtasks_internal.keep_step_ended()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	step twtasks.attempt;
BEGIN
	SELECT a.* INTO step FROM twtasks.attempt a WHERE a.task = NEW.task_id;
	IF FOUND THEN
		RAISE EXCEPTION 'step "%" of "%" cannot be reopened', step.step, step.identifier
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('Its kind "%s" has gone on from task %s.', step.kind, step.task),
				HINT = 'To reopen many tasks, name types that belong to no kind.';
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER keep_step_ended BEFORE INSERT ON twtasks.audit
	FOR EACH ROW WHEN (NEW.action = 'reopen') EXECUTE FUNCTION twtasks_internal.keep_step_ended();
ALTER TRIGGER keep_step_ended ON twtasks.audit DEPENDS ON EXTENSION twtasks_kinds;

/*
 * twtasks_internal.go_on_in_error(step)
 *
 *		Does what follows a step whose end nobody knows.  If that fails, its task is in
 *		ERROR, and its answer waits.
 *
 * Returns
 *		facts of the task now
 *
 * Errors
 *		55000			its identifier is already at a later step
 *
 * Writes		twtasks.task, and as follow()
 */
CREATE FUNCTION twtasks_internal.go_on_in_error(step twtasks.attempt)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	reason CONSTANT text := (SELECT t.error FROM twtasks.task t WHERE t.id = step.task);
	state twtasks.outcome;
BEGIN
	SELECT o.* INTO state FROM twtasks.outcome o WHERE o.task = step.task AND o.decided IS NULL FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'step "%" of "%" cannot run again', step.step, step.identifier
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('Its kind "%s" has gone on from task %s.', step.kind, step.task);
	END IF;
	PERFORM twtasks_internal.end_now(ARRAY[step.task], '{ERROR}', ARRAY[reason]);
	PERFORM twtasks_internal.follow(state, coalesce(state.answer->>'said', 'unknown'), coalesce(state.answer->>'fault', reason),
									coalesce(state.answer->'told', '{}'), 'infinity');
	RETURN coalesce((SELECT twtasks_internal.facts(t.*) FROM twtasks.task t WHERE t.id = step.task),
					(SELECT twtasks_internal.finished_facts(f.*) FROM twtasks.finished_task f WHERE f.id = step.task));
END $$;

/*
 * twtasks_internal.go_on_by_hand(task, before)
 *
 *		Decides about a step that a person lets run again.  If it may have acted, what
 *		follows its end is done in place of a run: an action never runs again without
 *		its search, and a black box not at all.
 *
 * Parameters
 *		before			facts() that a person has changed, as they were
 *
 * Returns
 *		facts of the task now; NULL: it may run
 *
 * Errors
 *		as go_on_in_error()
 *
 * Writes		twtasks.task, twtasks.attempt, and as follow()
 */
CREATE FUNCTION twtasks_internal.go_on_by_hand(task uuid, before jsonb)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	step twtasks.attempt;
BEGIN
	SELECT a.* INTO step FROM twtasks.attempt a WHERE a.task = task;
	-- The tries of a task in ERROR start anew, so they are among what was changed.
	IF step.step IN ('attempt', 'first', 'second') AND (step.answer IN ('unknown', 'cut_off') OR step.answer IS NULL AND before ? 'tries') THEN
		UPDATE twtasks.attempt a SET ended = twtasks.clock(), answer = 'unknown', fault = (SELECT t.error FROM twtasks.task t WHERE t.id = task)
		WHERE a.task = task AND a.answer IS NULL;
		IF (twtasks_internal.kind_named(step.kind)).kind <> 'idempotent' THEN
			RETURN twtasks_internal.go_on_in_error(step);
		END IF;
	ELSE
		UPDATE twtasks.attempt a SET ended = NULL, answer = NULL, fault = NULL WHERE a.task = task AND a.answer IS NOT NULL;
	END IF;
	UPDATE twtasks.outcome o SET answer = NULL, problem = NULL WHERE o.task = task AND o.decided IS NULL AND o.answer IS NOT NULL;
	RETURN NULL;
END $$;

/*
 * twtasks_internal.keep_step_once()
 *
 *		Lets go_on_by_hand() decide about a step that a person lets run again.
 *
 * Errors
 *		as go_on_by_hand()
 */
CREATE FUNCTION twtasks_internal.keep_step_once()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	became CONSTANT jsonb := twtasks_internal.go_on_by_hand(NEW.task_id, NEW.before);
BEGIN
	IF became IS NOT NULL THEN
		NEW.to_version := became->'version';
		NEW.to_status := became->>'status';
		NEW.after := became;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER keep_step_once BEFORE INSERT ON twtasks.audit
	FOR EACH ROW WHEN (NEW.action IN ('resume', 'release') AND NEW.to_status <> 'ERROR' AND twtasks_internal.is_new_entry(NEW.id))
	EXECUTE FUNCTION twtasks_internal.keep_step_once();
ALTER TRIGGER keep_step_once ON twtasks.audit DEPENDS ON EXTENSION twtasks_kinds;
