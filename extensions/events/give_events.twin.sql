-- after:
SELECT twtasks_internal.make_try_call('text[]', 'text[]', 'boolean[]');
