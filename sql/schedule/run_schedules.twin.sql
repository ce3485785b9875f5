-- after:
-- begin: in each update
SELECT twtasks_internal.make_try_call('twtasks.schedule', 'timestamptz', 'timestamptz');
-- end: in each update
