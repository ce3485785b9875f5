# 087_payload_reads.pl -- nobody reads a payload without a row that stays, and only a
# member of twtasks_web acts for somebody else.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;

my $node = TwTasks::Cluster->create('main');
my $id = $node->value(q{SELECT task_id FROM twtasks.add_task('PAYOUT', '{"iban": "DE1"}')});
my $asks = "SELECT twtasks.request_payload('$id', 'a test')";
my $denied = qr/55000|nobody asked/;

$node->value(<<'SQL');
	CREATE ROLE support LOGIN IN ROLE twtasks_payload_viewer;
	CREATE ROLE other LOGIN IN ROLE twtasks_payload_viewer;
	CREATE ROLE front LOGIN NOINHERIT IN ROLE twtasks_web, twtasks_operator, support;
	CREATE ROLE operator LOGIN IN ROLE twtasks_operator;
	SELECT twtasks.allow_payload('*', 'support'), twtasks.allow_payload('*', 'other');
SQL
my $support = $node->session('support');
my $read = $support->query($asks);

is($support->query("SELECT data FROM twtasks.read_payload($read)"), '{"iban": "DE1"}', 'a committed request gives the payload');
like($node->session('other')->try("SELECT twtasks.read_payload($read)"), qr{another role or person asked}, 'and gives it to nobody else');

$support->query('BEGIN');
$read = $support->query($asks);
like($support->try("SELECT twtasks.read_payload($read)"), $denied, 'an open transaction reads nothing');
$support->query('ROLLBACK');
like($support->try("SELECT twtasks.read_payload($read)"), $denied, 'a request that was taken back gives nothing');

$support->query('BEGIN');
$support->query('SAVEPOINT here');
$read = $support->query($asks);
$support->query('RELEASE here');
like($support->try("SELECT twtasks.read_payload($read)"), $denied, 'nor does one in a subtransaction');
$support->query('ROLLBACK');
like($support->try("SELECT twtasks.read_payload(twtasks.request_payload('$id', 'a test'))"), $denied, 'nor one in the same statement');
$support->query('BEGIN');
$support->query('SET LOCAL synchronous_commit = off');
$support->query($asks);
is($support->query('SHOW synchronous_commit'), 'local', 'the row is on disk when its transaction has committed');
$support->query('ROLLBACK');
is($node->value('SELECT count(*) FROM twtasks.payload_read'), 1, 'the rows are those of requests that were committed');

# ---- on behalf of a person ----

my $web = $node->session('front');

$web->query('BEGIN');
$web->query("SET LOCAL ROLE support; SET LOCAL twtasks.on_behalf_of = 'anne'");
$read = $web->query($asks);
$web->query('COMMIT');
$web->query('BEGIN');
$web->query("SET LOCAL ROLE support; SET LOCAL twtasks.on_behalf_of = 'bob'");
like($web->try("SELECT twtasks.read_payload($read)"), qr{another role or person asked}, 'another person does not get what one asked for');
$web->query('ROLLBACK');
$web->query('BEGIN');
$web->query("SET LOCAL ROLE support; SET LOCAL twtasks.on_behalf_of = 'anne'");
is($web->query("SELECT data FROM twtasks.read_payload($read)"), '{"iban": "DE1"}', 'the person who asked gets it');
$web->query('COMMIT');
is( $node->value('SELECT concat_ws(\' \', actor, role, on_behalf_of, type, reason) FROM twtasks.payload_read ORDER BY id DESC LIMIT 1'),
	'front support anne PAYOUT a test',
	'the row names the program, the role and the person');

my $operator = $node->session('operator');

$operator->query("SET twtasks.on_behalf_of = 'anne'");
like($operator->try("SELECT twtasks.hold_task('$id', 0, 'a test')"), qr/permission denied to act on behalf of others/,
	'an operator does not act for somebody else');
is($node->status_of($id), 'SUBMITTED', '... and nothing is changed');
$operator->query('RESET twtasks.on_behalf_of');
is($operator->query("SELECT result FROM twtasks.hold_task('$id', 0, 'a test')"), 'changed', 'an operator acts in its own name');

done_testing();
