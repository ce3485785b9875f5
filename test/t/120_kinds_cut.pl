# 120_kinds_cut.pl -- the network between a sidecar and the database is cut while its
# handlers act.  After a short cut their results count; after a long one another
# sidecar has gone on, and each kind of task keeps its promise.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::KindRun;
use TwTasks::Seed;
use TwTasks::Sidecar;
use TwTasks::Tunnel;
use TwTasks::Wait;

TwTasks::Seed::sow();

my $run = TwTasks::KindRun->create(
	fence => 1,
	short => [ 0.1, 0.5 ],
	slow => [ 0.8, 1.5 ],
	faults => { drop_request => 0.02, drop_reply => 0.02, refuse => 0.04, late => 0.02, slow => 0.02, early => 0.5 });
my $tunnel = TwTasks::Tunnel->create('127.0.0.1:' . $run->node->port);
my ($host, $port) = split /:/, $tunnel->address;
my $cut = $run->start_sidecar('cut',
	postgres => "host=$host port=$port dbname=postgres user=sidecar tcp_user_timeout=1000 connect_timeout=2");
my $heir = $run->start_sidecar('heir');

# Returns the tasks whose handlers the sidecar did not end: on a busy machine an
# action may take too long.
sub in_time
{
	return grep { $cut->log !~ /deadline of .* task=$_/ } @_;
}

# ---- a short cut ----

# Beyond its lease another sidecar goes on, as after a long cut.  On a busy machine one of
# several cuts is short.
my (@acting, $was_short);

foreach my $round (1 .. 3)
{
	$run->start_identifiers($round == 1 ? (60, 3) : (15, 1, qw(box boxx)));
	@acting = $run->wait_for_actions($cut, 'BOX');
	$tunnel->cut;
	wait_ok(sub { !$run->in_flight($cut) }, 'the handlers run on without the database');
	$was_short = took() < 3;
	$tunnel->mend;
	$run->wait_for_steps(100);
	last if $was_short;
	note("cut $round was not short");
}

# ---- a long cut ----

$run->start_identifiers(60, 3);
$run->wait_for_actions($cut, 'BOX');
my $incarnations = () = $cut->log =~ /as incarnation \d+/g;
$tunnel->cut;
$run->settle;
$tunnel->mend;
$run->wait_for_incarnation($cut, $incarnations + 1);
$run->verify;

my @unknown = in_time($run->unknown_of(map { $_->{task} } @acting));
is($was_short ? scalar @unknown : 0, 0, 'the results of a short cut count');
wait_ok(sub { !in_time($run->check->lost_results) }, 'the results of a long cut become anomalies');
$run->stop;
done_testing();
