# 131_topic_witness.pl -- the judge of messages to Kafka in torture (TwTasks::TopicWitness) finds
# nothing in a right history, and the fault in each wrong one.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::EventWitness;
use TwTasks::TopicWitness;
use TwTasks::Witnesses;

# Messages of m1 and events of h1 come twice, since attempts overlap.  Transaction p-2 is refused, and
# nobody knows of p-3, which is committed.
my %right = (
	clients => [
		'p-1 event topic-1 p-1-0', 'p-1 event topic-1 p-1-1', 'p-1 message k1 p-1-0', 'p-1 message k2 p-1-1', 'p-1 message k1 p-1-2',
		'p-1 nomessage k1 p-1-3', 'p-1 committed', 'p-2 message k1 p-2-0', 'p-2 event topic-1 p-2-0', 'p-2 refused',
		'p-3 add t1', 'p-3 message k1 p-3-0', 'p-3 unknown'
	],
	topics => [
		'sent h1 0 topic-1 5 p-1-0', 'sent h1 0 topic-1 6 p-1-1', 'sent h1 0 topic-1 5 p-1-0', 'message m1 0 k1 p-1-0',
		'message m1 2 k1 p-1-2', 'message m1 1 k2 p-1-1', 'message m1 0 k1 p-1-0 again', 'message m3 0 k1 p-3-0'
	],
	decoded => [
		'begin 1', 'queued p-1-0', 'queued p-1-1', 'add m1 0 SUBMITTED MESSAGES 0 -', 'commit 1',
		'begin 2', 'add h1 0 SUBMITTED HEAD 0 -', 'commit 2', 'begin 3', 'change h1 1 PROCESSING', 'change m1 1 PROCESSING', 'commit 3',
		'begin 4', 'leave h1', 'end h1 2 DONE', 'leave m1', 'end m1 2 DONE', 'commit 4',
		'begin 5', 'add t1 0 SUBMITTED SQL 0 -', 'add m3 0 SUBMITTED MESSAGES 0 -', 'commit 5',
		'begin 6', 'change m3 1 PROCESSING', 'effect t1', 'leave t1', 'end t1 2 DONE', 'commit 6', 'begin 7', 'leave m3', 'end m3 2 DONE', 'commit 7'
	],
	rows => [ 'm1 2 DONE', 'h1 2 DONE', 'm3 2 DONE', 't1 2 DONE' ]);

sub judge
{
	my (%history) = @_;
	my $witnesses = TwTasks::Witnesses->new(MESSAGES => 'sent', HEAD => 'sent', SQL => 'sql');

	$witnesses->add_judge(TwTasks::EventWitness->new($witnesses), qw(events resends));
	$witnesses->add_judge(TwTasks::TopicWitness->new($witnesses), qw(messages repeats));
	foreach my $witness (qw(clients topics decoded rows))
	{
		$witnesses->take($witness, $_ =~ s/ again$//r) foreach @{ $history{$witness} };
	}
	$witnesses->judge;
	return $witnesses;
}

# The right history with other lines in place of those of its topics that match.
sub changed
{
	my ($pattern, @lines) = @_;
	my @kept = grep { $_ !~ $pattern } @{ $right{topics} };

	die "no such line: $pattern\n" if @kept == @{ $right{topics} };
	return (%right, topics => [ @kept, @lines ]);
}

sub sees
{
	my ($what, $kind, $id, $text, @change) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return judge(changed(@change))->sees_ok($kind, $id, $text, "it sees $what");
}

my $verdict = judge(%right);
my %counts = $verdict->counts;

is(join("\n", $verdict->report(99)), '', 'it has no fault to find with a right history');
is_deeply([ @counts{qw(events resends messages repeats)} ], [ 2, 1, 4, 1 ], 'and counts what came');

my $last = qr/^message m3/;
my $m3 = 'message m3 0 k1 p-3-0';

sees('a message that never came', 'lost', 'p-1-1', qr/committed, and never sent/, qr/p-1-1$/);
sees('a message of a transaction whose answer was lost', 'lost', 'p-3-0', qr/committed, and never sent/, $last);
sees('a task that is done without a message', 'unfounded', 'm3', qr/no topic has a message/, $last);
sees('a message of a rollback', 'ghost', 'p-2-0', qr/was not committed/, $last, $m3, 'message m1 3 k1 p-2-0');
sees('a message of a savepoint that was rolled back', 'ghost', 'p-1-3', qr/was not committed/, $last, $m3, 'message m1 3 k1 p-1-3');
sees('a message that nobody sent', 'ghost', 'p-9-0', qr/was not committed/, $last, $m3, 'message m1 3 k1 p-9-0');
sees('a message with the id of another', 'broken', 'p-1-0', qr/as m1:0 and as m1:1/, $last, $m3, 'message m1 1 k1 p-1-0');
sees('a message with another key', 'broken', 'p-3-0', qr/with the key k2/, $last, 'message m3 0 k2 p-3-0');
sees('messages of a key in another order', 'broken', 'p-1-0', qr/after a later message/, qr/p-1-0/, 'message m1 0 k1 p-1-0');
sees('an event that never came', 'lost', 'p-1-1', qr/committed, and never sent/, qr/6 p-1-1$/);
sees('an event that overtakes another', 'broken', 'p-1-0', qr/after a later event/, qr/5 p-1-0$/, 'sent h1 0 topic-1 5 p-1-0');
sees('an event of a rollback', 'ghost', 'p-2-0', qr/was not committed/, $last, $m3, 'sent h1 0 topic-1 9 p-2-0');

is_deeply(
	[ TwTasks::TopicWitness::lines_of(qq(k1 p-1-0\tm1:3\t2)) ],
	['message m1 3 k1 p-1-0'], 'a message is read from its line');
is_deeply(
	[ TwTasks::TopicWitness::lines_of(qq({"object": "topic-1", "events": [{"id": 5, "event": "a"}, {"id": 6, "event": "b"}]}\th1:0\t0)) ],
	[ 'sent h1 0 topic-1 5 a', 'sent h1 0 topic-1 6 b' ], 'and events from the head that carries them');

done_testing();
