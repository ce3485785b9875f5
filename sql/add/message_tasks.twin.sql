-- after:
SELECT twtasks_internal.make_try_call('twtasks.message[]', 'jsonb');
SELECT twtasks_internal.make_try_call('twtasks.message', 'jsonb', 'text', 'text');
