-- twin: twt_call_stuck LANGUAGE plpgsql
BEGIN
	rule := twtasks_internal.call_stuck_rule(function, task);
	answered := true;
EXCEPTION WHEN OTHERS OR ASSERT_FAILURE THEN
	RAISE WARNING 'function "%" of a policy failed: % (SQLSTATE %)', function, SQLERRM, SQLSTATE
		USING ERRCODE = SQLSTATE,
			HINT = 'The policy''s figures decide in its place.';
	answered := false;
END
