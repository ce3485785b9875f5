-- after:
-- begin: in each update
SELECT twtasks_internal.make_try_call('twtasks.kind', 'jsonb');
SELECT twtasks_internal.make_try_call('twtasks.outcome');
SELECT twtasks_internal.make_try_call('twtasks.outcome', 'twtasks.reaction');
SELECT twtasks_internal.make_try_call('twtasks.outcome', 'text', 'text', 'jsonb');
SELECT twtasks_internal.make_try_call('twtasks.kind', 'twtasks.outcome', 'jsonb');
-- end: in each update
