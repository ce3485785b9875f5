# 110_events_frozen.pl -- a sender that stands still beyond its lease changes
# nothing in the chain: another node sends the same head again, and goes on; what
# the first one says later is refused.

use strict;
use warnings FATAL => 'all';

use POSIX qw(mkfifo O_RDWR);
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Chain;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $chain = TwTasks::Chain->new;
my $gate = PostgreSQL::Test::Utils::tempdir() . '/gate';

mkfifo($gate, oct 600) or die "could not make \"$gate\": $!";
sysopen my $opened, $gate, O_RDWR or die "could not open \"$gate\": $!";

sub handlers
{
	return [ { types => ['WORKS'], worker => $chain->worker(@_) } ];
}

sub texts
{
	return join ' ', map { $_->{event} } $chain->events;
}

$node->add_extensions('events');
$node->value(<<'SQL');
	SELECT twtasks.configure_stream('works', 'WORKS'), twtasks.configure_type('WORKS', stuck => 'retry');
SQL

my $frozen = TwTasks::Sidecar->start($node, 'frozen', lease => '5s', handlers => handlers($gate));

$node->value("SELECT twtasks.add_event('works', 'work:1', to_jsonb(t)) FROM unnest('{one,two,three}'::text[]) t");
wait_for(sub { texts() eq 'one' }, 'the first event');
$frozen->freeze;

my $heir = TwTasks::Sidecar->start($node, 'heir', handlers => handlers());

wait_ok(sub { texts() eq 'one two three' }, 'another node sends what the frozen one leaves');
is(scalar(grep { $_->{events}[0]{event} eq 'one' } $chain->heads), 2, 'the event of the frozen node is sent again');

# The first consumer says only now that it is done.
syswrite $opened, 'x';
$frozen->signal('CONT');
wait_for(sub { $frozen->incarnation && $frozen->log =~ /another incarnation|refused|as incarnation \d+.*as incarnation \d+/s },
	'the frozen node to learn of its fate');
$node->value(q{SELECT twtasks.add_event('works', 'work:1', '"four"')});
syswrite $opened, 'xxxx';
wait_ok(sub { texts() eq 'one two three four' }, 'the chain goes on');
wait_ok(
	sub { $node->value('SELECT count(*) FROM twtasks.event_objects WHERE head IS NULL AND last_id = sent_id') eq '1' },
	'all of it is done');
is(join("\n", $chain->faults), '', 'there is one chain, and the resend is identical');
is($node->value('SELECT count(*) FROM twtasks.broken_event_objects'), '0', 'no invariant is broken');

$_->stop foreach $frozen, $heir;
done_testing();
