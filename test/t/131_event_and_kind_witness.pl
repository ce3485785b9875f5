# 131_event_and_kind_witness.pl -- the judges of events and kinds in torture (TwTasks::EventWitness,
# TwTasks::KindWitness) find nothing in a right history, and the fault in each wrong one.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::EventWitness;
use TwTasks::KindWitness;
use TwTasks::Witnesses;

# A history in which much goes wrong and nothing is wrong.  The transactions:
#	p-1		is committed; a savepoint in it is rolled back
#	p-2		is refused
#	p-3		is committed, and its client does not know
#	p-4		is not committed, and its client does not know
#	p-5		is committed
# The head h1 fails once and repeats what it sent, and h3 waits for a person.  The first
# step of "idem" acts and fails, and so does the only one of the second black box.
my %right = (
	clients => [
		'p-1 add t1', 'p-1 event again:1 p-1-0', 'p-1 start idem-p-1-0', 'p-1 noevent again:1 p-1-1', 'p-1 nostart box-p-1-1',
		'p-1 event again:1 p-1-2', 'p-1 committed', 'p-2 add t2', 'p-2 event again:1 p-2-0', 'p-2 start box-p-2-0', 'p-2 refused',
		'p-3 add t3', 'p-3 event again:1 p-3-0', 'p-3 start box-p-3-0', 'p-3 unknown', 'p-4 add t4', 'p-4 event once:1 p-4-0', 'p-4 start box-p-4-0',
		'p-5 add t5', 'p-5 event again:1 p-5-0', 'p-5 event once:1 p-5-1', 'p-5 event once:1 p-5-2', 'p-5 start box-p-5-0', 'p-5 committed'
	],
	ledger => [
		'start h1 1 AGAIN 10', 'sent h1 1 again:1 1 p-1-0', 'sent h1 1 again:1 2 p-1-2', 'end h1 1 retry 11', 'start h1 4 AGAIN 12',
		'sent h1 4 again:1 1 p-1-0', 'sent h1 4 again:1 2 p-1-2', 'end h1 4 done 13', 'start h2 1 AGAIN 14', 'sent h2 1 again:1 7 p-5-0',
		'sent h2 1 again:1 9 p-3-0', 'end h2 1 done 15', 'start h3 1 HEAD_ONCE 14', 'sent h3 1 once:1 8 p-5-1',
		'start i1 1 STEP 20', 'act i1 1 idem-p-1-0 idem-p-1-0', 'end i1 1 error 21', 'start i2 1 STEP 22', 'act i2 1 idem-p-1-0 idem-p-1-0', 'end i2 1 done 23',
		'start b1 1 STEP 20', 'act b1 1 box-p-3-0 -', 'end b1 1 done 21', 'start b2 1 STEP 20', 'act b2 1 box-p-5-0 -'
	],
	decoded => [
		'begin 1', 'add t1 0 SUBMITTED SQL 0 -', 'queued p-1-0', 'queued p-1-2', 'add i1 0 SUBMITTED STEP 0 -', 'commit 1',
		'begin 2', 'add h1 0 SUBMITTED HEAD 0 -', 'head h1 again:1', 'commit 2', 'begin 3', 'change h1 1 PROCESSING', 'change i1 1 PROCESSING', 'commit 3',
		'begin 4', 'add t5 0 SUBMITTED SQL 0 -', 'queued p-5-0', 'queued p-5-1', 'queued p-5-2', 'add b2 0 SUBMITTED STEP 0 -', 'commit 4',
		'begin 5', 'add t3 0 SUBMITTED SQL 0 -', 'queued p-3-0', 'add b1 0 SUBMITTED STEP 0 -', 'commit 5',
		'begin 6', 'change h1 2 WAITING', 'add h3 0 SUBMITTED HEAD_ONCE 0 -', 'head h3 once:1', 'commit 6',
		'begin 7', 'leave i1', 'end i1 2 FAILED', 'add i2 0 SUBMITTED STEP 0 -', 'commit 7',
		'begin 8', 'change h1 3 SUBMITTED', 'change h3 1 PROCESSING', 'change b1 1 PROCESSING', 'change b2 1 PROCESSING', 'change i2 1 PROCESSING', 'commit 8',
		'begin 9', 'change h1 4 PROCESSING', 'commit 9', 'begin 10', 'leave h1', 'end h1 5 DONE', 'add h2 0 SUBMITTED HEAD 0 -', 'head h2 again:1', 'commit 10',
		'begin 11', 'change h2 1 PROCESSING', 'change h3 2 ERROR', 'commit 11', 'begin 12', 'leave h2', 'end h2 2 DONE', 'commit 12',
		'begin 13', 'leave i2', 'end i2 2 DONE', 'decided idem-p-1-0 paid', 'leave b1', 'end b1 2 DONE', 'decided box-p-3-0 paid', 'commit 13',
		'begin 14', 'leave b2', 'end b2 2 FAILED', 'decided box-p-5-0 uncertain', 'commit 14',
		'begin 15', map({ ("effect $_", "leave $_", "end $_ 2 DONE") } qw(t1 t3 t5)), 'commit 15'
	],
	rows => [ 't1 2 DONE', 't3 2 DONE', 't5 2 DONE', 'h1 5 DONE', 'h2 2 DONE', 'h3 2 ERROR', 'i1 2 FAILED', 'i2 2 DONE', 'b1 2 DONE', 'b2 2 FAILED' ],
	ends => [ 'still once:1 h3', 'outcome idem-p-1-0 paid', 'outcome box-p-3-0 paid', 'outcome box-p-5-0 uncertain' ]);

sub judge
{
	my (%history) = @_;
	my $witnesses = TwTasks::Witnesses->new(SQL => 'sql', AGAIN => 'head', HEAD => 'head', HEAD_ONCE => 'head_once', STEP => 'step');

	$witnesses->add_judge(TwTasks::EventWitness->new($witnesses), qw(events resends));
	$witnesses->add_judge(TwTasks::KindWitness->new($witnesses), qw(identifiers uncertain));
	foreach my $witness (qw(clients ledger decoded rows ends))
	{
		$witnesses->take($witness, $_ =~ s/\bAGAIN\b/HEAD/r) foreach @{ $history{$witness} };
	}
	$witnesses->judge;
	return $witnesses;
}

# The right history with some lines replaced: line => what stands in its place, several
# lines in one text, none if it is empty.
sub changed
{
	my (%of) = @_;
	my %history;

	foreach my $witness (keys %right)
	{
		$history{$witness} = [ map { exists $of{$_} ? split(/\n/, delete $of{$_}) : $_ } @{ $right{$witness} } ];
	}
	die 'no such lines: ' . join(', ', keys %of) . "\n" if %of;
	return %history;
}

sub sees
{
	my ($what, $kind, $id, $text, %changes) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return judge(changed(%changes))->sees_ok($kind, $id, $text, "it sees $what");
}

my $verdict = judge(%right);
my %counts = $verdict->counts;

is(join("\n", $verdict->report(99)), '', 'they have no fault to find with a right history');
is_deeply([ @counts{qw(events resends identifiers uncertain unsure lost double others)} ], [ 5, 2, 3, 1, 1, 0, 0, 0 ], 'and count what happened');

# ---- events ----

sees('an event that was never sent', 'lost', 'p-3-0', qr/committed, and never sent/, 'sent h2 1 again:1 9 p-3-0' => '');
sees('an event that was rolled back and sent', 'ghost', 'p-2-0', qr/sent, and was not committed/,
	'sent h2 1 again:1 9 p-3-0' => "sent h2 1 again:1 9 p-3-0\nsent h2 1 again:1 10 p-2-0");
sees('an event of a savepoint that was rolled back', 'ghost', 'p-1-1', qr/sent, and was not committed/,
	'sent h2 1 again:1 9 p-3-0' => "sent h2 1 again:1 9 p-3-0\nsent h2 1 again:1 10 p-1-1");
sees('an event that nobody added', 'ghost', 'p-9-0', qr/sent, and was not committed/,
	'sent h2 1 again:1 9 p-3-0' => "sent h2 1 again:1 9 p-3-0\nsent h2 1 again:1 10 p-9-0");
sees('half of a transaction in the queue', 'ghost', 'p-4-0', qr/in the queue, and was not committed/, 'queued p-3-0' => "queued p-3-0\nqueued p-4-0");
sees('an event that overtakes another', 'broken', 'p-1-2', qr/after a later event of its object/,
	'sent h1 1 again:1 2 p-1-2' => '', 'sent h1 4 again:1 2 p-1-2' => '', 'sent h2 1 again:1 9 p-3-0' => "sent h2 1 again:1 9 p-3-0\nsent h2 1 again:1 2 p-1-2");
sees('ids in another order than the transactions of their producer', 'broken', 'p-1-2', qr/after p-5-0, which its producer added later/,
	'sent h1 1 again:1 2 p-1-2' => '', 'sent h1 4 again:1 2 p-1-2' => '', 'sent h2 1 again:1 9 p-3-0' => "sent h2 1 again:1 9 p-3-0\nsent h2 1 again:1 10 p-1-2");
sees('an event with two ids', 'broken', 'p-1-0', qr/has the ids 1 and 3/, 'sent h1 4 again:1 1 p-1-0' => 'sent h1 4 again:1 3 p-1-0');
sees('an event of another object', 'broken', 'p-5-0', qr/was sent to again:2/, 'sent h2 1 again:1 7 p-5-0' => 'sent h2 1 again:2 7 p-5-0');
sees('a second send of what may be sent once', 'double', 'p-5-1', qr/was sent twice/,
	'sent h3 1 once:1 8 p-5-1' => "sent h3 1 once:1 8 p-5-1\nsent h3 1 once:1 8 p-5-1");
sees('a second start of a head that may start once', 'double', 'h3', qr/started 2 times/,
	'start h3 1 HEAD_ONCE 14' => "start h3 1 HEAD_ONCE 14\nstart h3 3 HEAD_ONCE 15");
sees('a head that nobody ended', 'lost', 'h2', qr/is 1 PROCESSING in the end/, 'leave h2' => '', 'end h2 2 DONE' => '', 'h2 2 DONE' => 'h2 1 PROCESSING');
sees('an object that stands still though its head may repeat', 'lost', 'again:1', qr/stands still at the task h2/,
	'still once:1 h3' => "still once:1 h3\nstill again:1 h2");
sees('an object that stands still without a reason', 'lost', 'once:1', qr/task h2, which is DONE/, 'still once:1 h3' => 'still once:1 h2');
sees('an event behind an object that goes on', 'lost', 'p-5-2', qr/never sent/, 'still once:1 h3' => '');

sees('a second live head of an object', 'double', 'again:1', qr/has the live heads h1 h3/, 'head h3 once:1' => 'head h3 again:1');
sees('a head that is added beside another', 'double', 'again:1', qr/has the live heads h1 h2/, 'head h2 again:1' => '', 'head h3 once:1' => "head h3 once:1\nhead h2 again:1");

# ---- kinds ----

sees('an identifier without outcome', 'lost', 'box-p-3-0', qr/has no outcome/, 'outcome box-p-3-0 paid' => '');
sees('an identifier that nobody decides', 'lost', 'box-p-3-0', qr/is - in the end/, 'decided box-p-3-0 paid' => '', 'outcome box-p-3-0 paid' => 'outcome box-p-3-0 -');
sees('an idempotent action that is given up', 'lost', 'idem-p-1-0', qr/is uncertain in the end/,
	'decided idem-p-1-0 paid' => '', 'outcome idem-p-1-0 paid' => 'outcome idem-p-1-0 uncertain');
sees('a second action of a black box', 'double', 'box-p-5-0', qr/acted on 2 times/, 'act b2 1 box-p-5-0 -' => "act b2 1 box-p-5-0 -\nact b2 1 box-p-5-0 -");
sees('an action after the end is uncertain', 'double', 'box-p-5-0', qr/acted on 2 times/,
	'act b2 1 box-p-5-0 -' => "act b2 1 box-p-5-0 -\nstart b3 1 STEP 30\nact b3 1 box-p-5-0 -");
sees('a step that starts again', 'double', 'i1', qr/started 2 times/, 'end i1 1 error 21' => "end i1 1 error 21\nstart i1 3 STEP 22");
sees('an action that was paid and not done', 'unfounded', 'box-p-3-0', qr/nobody acted/, 'act b1 1 box-p-3-0 -' => '');
sees('an action without its key', 'broken', 'idem-p-1-0', qr/with the key -/, 'act i2 1 idem-p-1-0 idem-p-1-0' => 'act i2 1 idem-p-1-0 -');
sees('a start that was rolled back and has an outcome', 'ghost', 'box-p-2-0', qr/has an outcome/, 'still once:1 h3' => "still once:1 h3\noutcome box-p-2-0 paid");
sees('an action of a start that was rolled back', 'ghost', 'box-p-1-1', qr/was acted on/, 'act b1 1 box-p-3-0 -' => "act b1 1 box-p-3-0 -\nact b1 1 box-p-1-1 -");
sees('half of a transaction whose outcome is unknown', 'ghost', 'box-p-4-0', qr/has an outcome/, 'still once:1 h3' => "still once:1 h3\noutcome box-p-4-0 paid");
sees('a second decision', 'double', 'box-p-5-0', qr/decided twice: uncertain, paid/,
	'decided box-p-5-0 uncertain' => "decided box-p-5-0 uncertain\ndecided box-p-5-0 paid");
sees('a decision that changed in the table', 'broken', 'box-p-5-0', qr/is paid in the table, and was decided as uncertain/,
	'outcome box-p-5-0 uncertain' => 'outcome box-p-5-0 paid');

# ---- a promotion ----

my @promoted = (
	'commit 15' => join "\n", 'commit 15', 'switch 1/0',
	(map { "have $_ 2 DONE SQL 0 - 1" } qw(t1 t3 t5)), 'have h1 5 DONE HEAD 0 - 0', 'have h2 2 DONE HEAD 0 - 0', 'have h3 2 ERROR HEAD_ONCE 0 - 0',
	'have i1 2 FAILED STEP 0 - 0', 'have i2 2 DONE STEP 0 - 0', 'have b1 2 DONE STEP 0 - 0', 'have b2 2 FAILED STEP 0 - 0', 'head h3 once:1', 'switched');

is(join("\n", judge(changed(@promoted))->report(99)), '', 'they have no fault to find with a promotion');
is( join("\n",
		judge(changed(
			@promoted,
			'begin 2' => "begin 20\nadd h9 0 SUBMITTED HEAD 0 -\nadd t4 0 SUBMITTED SQL 0 -\nqueued p-4-0\ncommit 20\nbegin 2",
			'sent h2 1 again:1 9 p-3-0' => "sent h2 1 again:1 9 p-3-0\nstart h9 1 HEAD 15\nsent h9 1 once:1 5 p-4-0"))->report(99)),
	'', 'nor with the loss of a head that may repeat, and of what it sent');
sees('two live heads of an object in a promoted server', 'double', 'once:1', qr/has the live heads h3 h4/,
	'commit 15' => $promoted[1] =~ s/^switched$/head h4 once:1\nswitched/mr);

done_testing();
