# 036_refused.pl -- a server that refuses a sidecar for a reason that does not
# pass says so in the log and to systemd; the sidecar works once it is mended.

use strict;
use warnings FATAL => 'all';

use IO::Socket::UNIX;
use PostgreSQL::Test::Utils;
use Socket qw(SOCK_DGRAM);
use Test::More;
use TwTasks::Cluster;
use TwTasks::Session;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $notify = PostgreSQL::Test::Utils::tempdir_short() . '/notify';
my $systemd =
  IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $notify, Blocking => 0)
  or die "could not open a socket: $!";

sub told_systemd
{
	my ($regexp) = @_;

	wait_ok(
		sub {
			my $told = '';

			recv $systemd, $told, 4096, 0;
			return $told =~ $regexp;
		},
		"systemd is told: $regexp");
	return;
}

$node->value('ALTER ROLE sidecar PASSWORD \'right\'');
my $trust = PostgreSQL::Test::Utils::slurp_file($node->data_dir . '/pg_hba.conf');

unlink $node->data_dir . '/pg_hba.conf';
$node->append_conf('pg_hba.conf', "local all sidecar scram-sha-256\n$trust");
$node->reload;

my $sidecar = TwTasks::Sidecar->prepare(
	$node, 'a',
	handlers => [ { types => ['TASK'], noop => JSON::PP::true } ],
	env => { NOTIFY_SOCKET => $notify, PGPASSWORD => 'wrong' });

$sidecar->launch;
$sidecar->wait_for_log(
	qr/ERROR postgres: control: .*28P01: password authentication failed.*; somebody must mend this: correct its password/,
	'a wrong password');
unlike($sidecar->log, qr/will connect again/, 'the log does not promise another attempt');
told_systemd(qr/^STATUS=\w+: .*password authentication failed/);
$node->value('ALTER ROLE sidecar PASSWORD \'wrong\'');
$sidecar->wait_for_log(qr/INFO  postgres: control: connected/,
	'the password that it has is right now');
told_systemd(qr/^STATUS=\w+: connected/);
$sidecar->wait_for_log(qr/started as incarnation/, 'its start');
is($sidecar->stop, 0, 'the sidecar stops in order after the password is right');

$sidecar->{config}{postgres} =~ s/dbname=\S+/dbname=nowhere/;
$sidecar->launch;
$sidecar->wait_for_log(
	qr/ERROR postgres: control: .*3D000: database "nowhere" does not exist; somebody must mend this: correct dbname/,
	'a database that is not there');
$sidecar->kill9;
$sidecar->{config}{postgres} = $node->connstr('postgres') . ' user=nobody';
$sidecar->launch;
$sidecar->wait_for_log(
	qr/ERROR postgres: control: .*28000: role "nobody" does not exist; somebody must mend this: correct the user/,
	'a role that is not there');
$sidecar->kill9;
$sidecar->{config}{postgres} = $node->connstr('shut') . ' user=sidecar';
$node->value('CREATE DATABASE shut');
$node->value('REVOKE CONNECT ON DATABASE shut FROM PUBLIC');
$sidecar->launch;
$sidecar->wait_for_log(
	qr/ERROR postgres: control: .*42501: permission denied for database "shut"; somebody must mend this: GRANT CONNECT/,
	'a database that lets the role not in');
$sidecar->kill9;

# Not every misfit is one of versions.
$node->value('CREATE DATABASE empty');
$sidecar->{config}{postgres} = $node->connstr('empty') . ' user=sidecar';
$sidecar->launch;
$sidecar->wait_for_log(
	qr/ERROR postgres: there is no extension twtasks in this database: .*; Run CREATE EXTENSION twtasks/,
	'a database without the extension');
my $empty = TwTasks::Session->new($node->connstr('empty'));
$empty->query('CREATE EXTENSION twtasks');
$sidecar->wait_for_log(qr/started as incarnation/, 'its start');
is($sidecar->stop, 0, 'the sidecar works once the extension is there');
$node->value('REVOKE twtasks_worker FROM sidecar');
$sidecar->launch;
$sidecar->wait_for_log(
	qr/ERROR postgres: this program's role may not call the extension: .*; GRANT twtasks_worker TO "sidecar"\.$/m,
	'a role without rights');
$sidecar->kill9;
$empty->query('ALTER FUNCTION twtasks_internal.start_node RENAME TO no_start_node');
$node->value('GRANT twtasks_worker TO sidecar');
$sidecar->launch;
$sidecar->wait_for_log(
	qr/ERROR postgres: the extension in this database does not fit version .*start_node.* does not exist; Run ALTER EXTENSION twtasks UPDATE/,
	'an extension without a function');
$sidecar->kill9;
$empty->query('REVOKE EXECUTE ON FUNCTION twtasks_internal.no_start_node FROM twtasks_worker');
$empty->query('ALTER FUNCTION twtasks_internal.no_start_node RENAME TO start_node');
$sidecar->launch;
$sidecar->wait_for_log(
	qr/ERROR postgres: this program's role may not call the extension: .*permission denied for function start_node; GRANT twtasks_worker TO "sidecar"\.$/m,
	'a role without the right to one function');
$empty->query('GRANT EXECUTE ON FUNCTION twtasks_internal.start_node TO twtasks_worker');
$sidecar->wait_for_log(qr/started as incarnation/, 'its start');
is($sidecar->stop, 0, 'the sidecar works once its role may call');

done_testing();
