-- twin: twt_call_message LANGUAGE sql
	SELECT m.task FROM twtasks_internal.call_listener(function, message) m(task)

-- after:
SELECT twtasks_internal.make_try_call('twtasks.message[]', 'jsonb');
SELECT twtasks_internal.make_try_call('twtasks.message', 'jsonb', 'text', 'text');
