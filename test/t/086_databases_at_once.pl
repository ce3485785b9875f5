# 086_databases_at_once.pl -- several databases of a server get the extensions at
# the same time.  They share the roles, which only one of them can make.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Session;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my @names = map { "shard_$_" } 1 .. 4;
my $roles = 'owner producer worker web operator viewer payload_viewer tester nobody';
my $count =
  q{SELECT count(*) FROM pg_roles WHERE rolname LIKE 'twtasks\_%' AND NOT rolcanlogin AND NOT rolsuper};
my %shard;

sub drop_roles
{
	$node->value('DROP EXTENSION IF EXISTS twtasks CASCADE; DROP SCHEMA IF EXISTS twtasks');
	$node->value("DROP ROLE IF EXISTS twtasks_$_") foreach split / /, $roles;
	return;
}

sub create_databases
{
	drop_roles();
	is($node->value($count), '0', 'no role of twtasks is there');
	$node->value("CREATE DATABASE $_") foreach @names;
	%shard =
	  map { $_ => TwTasks::Session->new($node->connstr($_)) } @names;
	$_->query('SET client_min_messages = warning') foreach values %shard;
	return;
}

sub drop_databases
{
	is($node->value($count), '9', '... and each role is there, once');
	foreach my $name (@names)
	{
		is($shard{$name}->try("SELECT result FROM twtasks.add_task('T')"),
			'added', "$name takes tasks");
		$shard{$name}->close;
		$node->value("DROP DATABASE $name WITH (FORCE)");
	}
	return;
}

# All create the extension, the first in a transaction that ends in this way when
# the others wait.
sub create_at_once
{
	my ($end, $extension) = @_;
	my ($first, @others) = @names;

	$shard{$first}
	  ->query("BEGIN; CREATE EXTENSION $extension CASCADE");
	$shard{$_}->send("CREATE EXTENSION $extension CASCADE")
	  foreach @others;
	wait_for(
		sub {
			$node->value(
				q{SELECT count(*) = 3 FROM pg_stat_activity WHERE datname LIKE 'shard%' AND wait_event = 'transactionid'}
			) eq 't';
		},
		'three databases to wait for the roles of the first');
	$shard{$first}->query($end);
	foreach my $name (@others)
	{
		is($shard{$name}->receive, '',
			"$name gets $extension after a $end elsewhere");
	}
	return;
}

create_databases();
create_at_once('COMMIT', 'twtasks');
create_at_once('COMMIT', 'twtasks_kinds');
drop_databases();

create_databases();
create_at_once('ROLLBACK', 'twtasks_kinds');
$shard{ $names[0] }->query('CREATE EXTENSION twtasks');
drop_databases();

done_testing();
