# 144_ctl_payload.pl -- twtasksctl shows what a task carries to those who may read it,
# and carries a task to a database of tests, where it waits held.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ctl;

my $node = TwTasks::Cluster->create('main');

$node->value(<<'SQL');
	CREATE ROLE reader LOGIN IN ROLE twtasks_payload_viewer, twtasks_viewer;
	CREATE ROLE operator LOGIN IN ROLE twtasks_operator;
	CREATE ROLE developer LOGIN IN ROLE twtasks_operator, twtasks_producer;
SQL
my $reader = TwTasks::Ctl->new($node, 'reader');
my $operator = TwTasks::Ctl->new($node, 'operator');
my $developer = TwTasks::Ctl->new($node, 'developer');
my @reason = ('--reason', 'customer asks');
my $data = '{"iban": "DE1", "amount": 12345678901234567890.10}';
my $id = $node->value(
	"SELECT task_id FROM twtasks.add_task('PAYOUT', '$data', key => 'order 1', sub_type => 's', priority => 2, context => '{\"request\": \"r\"}', run_after => '2100-01-01')"
);
my $bytes = $node->value(q{SELECT task_id FROM twtasks.add_task('BYTES', payload => '\x00ff0a', run_after => '2100-01-01')});
my $reads = 'SELECT count(*) FROM twtasks.payload_read';

# ---- who may ----

foreach my $verb (qw(payload export))
{
	my ($out, $err) = $operator->ends(1, [ $verb, $id, @reason ], "an operator may not call $verb");

	is($out, '', "$verb shows an operator nothing");
	like($err, qr/permission denied.*\nhint: .*twtasks_payload_viewer/, "$verb names the role that is needed");
	$reader->ends(2, [ $verb, $id ], "$verb needs a reason");
	($out, $err) = $reader->ends(1, [ $verb, $id, @reason ], "$verb shows nothing before an administrator allows it");
	is($out, '', "$verb shows a reader nothing then");
	like($err, qr/allow_payload\('PAYOUT', 'reader'\)/, "$verb says what an administrator can type");
	unlike($err, qr/GRANT/, "$verb asks for no role that the reader has");
}
is($node->value("$reads WHERE was_denied"), 2, 'denied reads are noted');
$node->value("SELECT twtasks.allow_payload('*', 'reader')");

# ---- what they show ----

is($reader->json(0, [ 'payload', $id, @reason ])->{data}{iban}, 'DE1', 'payload shows the data');
like(($reader->ends(0, [ 'payload', $id, @reason ]))[0], qr/12345678901234567890\.10/, 'payload changes no number');
is($reader->json(0, [ 'payload', $bytes, @reason ])->{payload}, '\x00ff0a', 'payload shows bytes');
is($node->value("$reads WHERE NOT was_denied AND reason = 'customer asks' AND actor = 'reader'"), 3, 'each read is noted, with its reason');
my $ended = $node->value("SELECT task_id FROM twtasks.add_task('ENDED', run_after => '2100-01-01')");

$node->value("SELECT twtasks.cancel_task('$ended', NULL, 'a test')");
$node->value(qq{UPDATE twtasks.finished_task SET outcome = '{"fee": 12345678901234567890.10}' WHERE id = '$ended'});
like(($reader->ends(0, [ 'payload', $ended, @reason ]))[0], qr/12345678901234567890\.10/, 'payload shows the outcome');
my ($none, $gone) = $reader->ends(1, [ 'payload', '00000000-0000-0000-0000-000000000001', @reason ], 'a task that is not there');

like($gone, qr/does not exist/, 'payload says that there is no such task');

# ---- elsewhere ----

my ($exported) = $reader->ends(0, [ 'export', $id, @reason ], 'export');
my ($exported_bytes) = $reader->ends(0, [ 'export', $bytes, @reason ], 'export of bytes');

like($exported, qr/12345678901234567890\.10/, 'export changes no number');
is(decode_json($exported)->{key}, 'order 1', 'export has the key');
$developer->ends(2, ['no_such_verb'], 'a program that never reads its input does not end the test', input => 'x' x 1_000_000);
my ($out, $err) = $developer->ends(1, ['import'], 'import is refused where tasks run', input => $exported);

like($err, qr/twtasks\.testing is off/, 'import says that this is no database of tests');
$node->value('ALTER DATABASE postgres SET twtasks.testing = on');
is($developer->json(1, ['import'], 'import again', input => $exported)->{result}, 'already_exists', 'a task that is there is not added again');
is($node->status_of($id), 'WAITING', 'and not held');
$node->session->query('SELECT twtasks.reset_tasks()');
foreach my $task ($exported, $exported_bytes)
{
	my $record = $developer->json(0, ['import'], 'import', input => $task);

	is("$record->{task_id} $record->{result} $record->{held}", decode_json($task)->{id} . ' added changed', 'import adds the task and holds it');
	is($node->status_of($record->{task_id}), 'HELD', 'an imported task does not start by itself');
}
is( $node->value("SELECT concat_ws(' ', data, sub_type, priority, key, context) FROM twtasks.task WHERE id = '$id'"),
	"$data s 2 order 1 {\"request\": \"r\"}",
	'it carries what it carried');
is($node->value("SELECT payload FROM twtasks.task WHERE id = '$bytes'"), '\x00ff0a', 'and its bytes');
($out, $err) = $developer->ends(2, ['import'], 'import of something else', input => 'no json');
like($err, qr/invalid input syntax for type json/, 'import says that this is no task');

done_testing();
