-- after:
SELECT twtasks_internal.make_try_call('text', 'twtasks.late_result[]');
