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
	qr/ERROR postgres: control: .*28P01: password authentication failed.*; somebody must mend this/,
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
	qr/ERROR postgres: control: .*3D000: database "nowhere" does not exist; somebody/,
	'a database that is not there');
$sidecar->kill9;

# Not every misfit is one of versions.
$node->value('CREATE DATABASE empty');
$sidecar->{config}{postgres} =~ s/dbname=\S+/dbname=empty/;
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
	qr/ERROR postgres: this program's role may not call the extension: .*; GRANT it twtasks_worker/,
	'a role without rights');
$node->value('GRANT twtasks_worker TO sidecar');
$sidecar->wait_for_log(qr/started as incarnation/, 'its start');
is($sidecar->stop, 0, 'the sidecar works once its role may call');

done_testing();
