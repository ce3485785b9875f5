# 154_api_bounds.pl -- what the database refuses to a request of the management API: a
# read that writes, and one that takes too long.  Views of the test do both.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Api;
use TwTasks::Cluster;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $web = TwTasks::Api->start($node, 'web');

is(($web->call('vera', 'GET', '/pauses'))[0], 200, 'a read');

# ---- a read that writes ----

$node->value(<<'SQL');
	CREATE SCHEMA app;
	GRANT USAGE ON SCHEMA app TO PUBLIC;
	CREATE TABLE app.written (n integer);
	CREATE FUNCTION app.write() RETURNS boolean LANGUAGE sql VOLATILE SECURITY DEFINER
	AS 'INSERT INTO app.written VALUES (1); SELECT true';
	CREATE FUNCTION app.rest() RETURNS boolean LANGUAGE sql VOLATILE AS 'SELECT pg_catalog.pg_sleep(60); SELECT true';	-- the workload
	ALTER VIEW twtasks.paused RENAME TO paused_of_before;
	CREATE VIEW twtasks.paused AS SELECT * FROM twtasks.paused_of_before WHERE app.write();
	GRANT SELECT ON twtasks.paused TO twtasks_viewer;
	SELECT twtasks.pause_type('MAIL')
SQL
my ($status) = $web->call('vera', 'GET', '/pauses');

is("$status " . $node->value('SELECT count(*) FROM app.written'), '500 0', 'a read that would write does not');
like($web->log, qr/cannot execute INSERT in a read-only transaction/, '... since its transaction is read only');

# ---- a read that takes too long ----

$node->value('CREATE OR REPLACE VIEW twtasks.paused AS SELECT * FROM twtasks.paused_of_before WHERE app.rest()');
my ($late, $problem, $answer) = $web->call('vera', 'GET', '/pauses');

is("$late $problem->{type}", '503 /problems/too-much', 'a read that takes too long is ended by the database');
like($answer->{headers}{'retry-after'} // '', qr/^\d+$/, '... and the client may come again');
wait_ok(
	sub { $node->value(q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'twtasks-web read' AND state <> 'idle'}) == 0 },
	'... and nothing of it goes on');

done_testing();
