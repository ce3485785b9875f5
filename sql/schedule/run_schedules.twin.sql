-- after:
SELECT twtasks_internal.make_try_call('twtasks.schedule', 'timestamptz', 'timestamptz');
