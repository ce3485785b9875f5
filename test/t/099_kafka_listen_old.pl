# 099_kafka_listen_old.pl -- a listener of this version on a database whose extension
# is that of the release before: it says so, takes nothing, and goes on after the
# update where the old listener stood.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Kafka;
use TwTasks::Listener;
use TwTasks::Wait;

my $kafka = TwTasks::Kafka->create;
my $node = TwTasks::Cluster->create('main');

sub value
{
	return $node->safe_psql('old', $_[0]);
}

$node->safe_psql('postgres', 'CREATE DATABASE old TEMPLATE template0');
value(q(CREATE EXTENSION twtasks VERSION '1.0'));
$kafka->create_topic('old');
$kafka->produce('old', map { { value => $_ } } 101 .. 200);
value(q(SET ROLE producer; SELECT twtasks.begin_partition('old', 'old', 0, partitions => 1, start => 40, first => 0)));
my %settings = TwTasks::Listener::settings_for($node, $kafka,
	{ name => 'old', topics => ['old'], start => 'latest', type => 'OLD', corrupt => 'task' });

$settings{postgres} =~ s/dbname=\S+/dbname=old/;
my $process = TwTasks::Listener->start($node, 'old', %settings);

$process->wait_for_log(qr/ERROR .*the extension in this database does not fit version .*place_partition.*Run ALTER EXTENSION twtasks UPDATE/,
	'a line that says what to do');
is(value('SELECT next_offset FROM twtasks.message_offset'), 40, 'the listener takes nothing');
value('ALTER EXTENSION twtasks UPDATE');
wait_ok(sub { value('SELECT next_offset FROM twtasks.message_offset') eq '100' }, 'it goes on after the update');
is(value(q(SELECT count(*) || ' ' || count(DISTINCT data) || ' ' || min(data::text) FROM twtasks.task WHERE type = 'OLD')), '60 60 141',
	'each message from there on is a task');
is($process->stop, 0, 'the process ends in order');
$node->stop;
done_testing();
