# 146_notify_down.pl -- while a receiver is down, incidents open, are acknowledged and end:
# when it is up again it gets all messages, each once, and those of a key in order.
#
#	TWT_DOWN_SECONDS=600	so long it is down besides; 0: for some tries

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use TwTasks::Cluster;
use TwTasks::HttpServer;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant { DOWN => $ENV{TWT_DOWN_SECONDS} || 0, KEYS => 5, AGAIN_MAX => 300 };

my $node = TwTasks::Cluster->create('main');
# Before a sidecar runs, which would open incidents of its own.
my $judge = $node->hold_judge;
my $port = PostgreSQL::Test::Cluster::get_free_port();
my %config = (
	handlers => [ { types => ['NOOP'], noop => JSON::PP::true } ],
	notify => { targets => [ { name => 'hook', kind => 'webhook', url => "http://127.0.0.1:$port/hook" } ] });
my $sidecar = TwTasks::Sidecar->start($node, 'a', %config);
my @keys = map { "error/TYPE_$_" } 1 .. KEYS;
my %wanted = map { $_ => 'open acknowledge resolve' } @keys;

# The sidecar asks what is to be sent each minute, and when it reads its configuration,
# after which it tries everything anew.
sub change
{
	my ($statement) = @_;

	$node->value($statement);
	$sidecar->reload(TwTasks::Sidecar::config_for($node, 'a', %config)) unless DOWN;
	return;
}

sub noted
{
	my ($condition) = @_;

	return $node->value("SELECT count(*) FROM twtasks.incident_sent WHERE $condition");
}

wait_ok(sub { $node->value('SELECT count(*) FROM twtasks.monitor') == 1 }, 'a sidecar counts');

foreach my $n (0 .. $#keys)
{
	my ($kind, $object) = split m{/}, $keys[$n];

	# Seen until tomorrow, so that no judge ends it.
	change("INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, count, summary, told)
		VALUES ('$keys[$n]', '$kind', '$object', 'page', now(), now() + interval '1 day', 3, 'tasks are in ERROR', now())");
	change("UPDATE twtasks.incident SET acknowledged = now(), acknowledged_by = 'x' WHERE key = '$keys[$n - 1]'") if $n;
	change("UPDATE twtasks.incident SET resolved = now() WHERE key = '$keys[$n - 2]'") if $n > 1;
	watch_for(DOWN / KEYS);
}
wait_ok(sub { noted(q{state = 'open' AND status = 'retry'}) == KEYS }, 'each opening was tried in vain');
change(q{UPDATE twtasks.incident SET acknowledged = now(), acknowledged_by = 'x' WHERE acknowledged IS NULL});
change(q{UPDATE twtasks.incident SET resolved = now() WHERE resolved IS NULL});
is(noted(q{status = 'sent'}), 0, 'nothing is noted as sent');

my $up = time;
my $server = TwTasks::HttpServer->start(port => $port);

sub states_of
{
	my ($key) = @_;

	return join ' ', map { $_->{state} } grep { $_->{key} eq $key } map { decode_json($_->{body}) } $server->requests;
}

wait_ok(sub { (grep { states_of($_) eq $wanted{$_} } @keys) == KEYS }, 'all messages arrive, each once, and those of a key in order', 180 + 2 * AGAIN_MAX);
my $told = sprintf 'the last one arrived %.1f s after the receiver was up', time - $up;
DOWN ? diag($told) : note($told);
wait_ok(sub { noted(q{status = 'sent'}) == 3 * KEYS }, 'and each is noted');
is_deeply({ map { $_ => states_of($_) } @keys }, \%wanted, 'nothing comes again');
is($sidecar->stop, 0, 'the sidecar stops in order');
done_testing();
