-- twin: twt_check_task LANGUAGE plpgsql
DECLARE
	made twtasks_internal.checked_task;
	policy record;
BEGIN
	PERFORM twtasks_internal.check_type(task.type);
	SELECT p.* INTO policy FROM twtasks.policy_of(task.type) p;
	made := twtasks_internal.with_policy(task, 'kept', policy);
	PERFORM twtasks_internal.check_allowed_for(task.type, pg_get_userbyid(twtasks_internal.caller()));
	task.priority := made.priority;
	task.bucket := made.bucket;
	task.expires := NULL;
	RETURN task;
END
