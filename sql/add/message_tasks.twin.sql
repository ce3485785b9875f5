-- twin: twt_call_message LANGUAGE sql
	SELECT twtasks_internal.call_listener(function, message)

-- after:
-- begin: in each update
SELECT twtasks_internal.make_try_call('twtasks.message[]', 'jsonb');
SELECT twtasks_internal.make_try_call('twtasks.message', 'jsonb', 'text', 'text');
-- end: in each update
