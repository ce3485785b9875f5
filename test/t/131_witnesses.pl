# 131_witnesses.pl -- the judge of torture (TwTasks::Witnesses) finds nothing in a right
# history, and the fault in each wrong one.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Witnesses;

# A history in which much goes wrong and nothing is wrong.  The ids:
#	one		once, done; adds two when it is done
#	two		added by one
#	again	fails, is lost with its node, and is done in its third version
#	flushed	its grab was lost in a crash of the server, and it started again
#	sql		has an effect
#	unsure	once, and its node was gone
#	open	its client does not know that it was committed; it was prepared
#	back	in a savepoint that was rolled back
#	gone	in a transaction that was rolled back
#	never	its client does not know that it was not committed
my %right = (
	clients => [
		'a-1 add one', 'a-1 add again', 'a-1 drop back', 'a-1 committed', 'a-2 add gone',
		'a-2 refused', 'a-3 add sql', 'a-3 add flushed', 'a-3 committed', 'b-1 add open',
		'b-1 add unsure', 'b-1 unknown', 'b-2 add never'
	],
	ledger => [
		'start one 1 ONCE 10', 'end one 1 done 11', 'start again 1 AGAIN 10', 'end again 1 retry 11', 'start again 4 AGAIN 12',
		'start again 6 AGAIN 13', 'end again 6 done 14', 'start two 1 ONCE 12', 'end two 1 done 13', 'start unsure 1 ONCE 13',
		'start flushed 1 AGAIN 20', 'end flushed 1 done 21', 'start flushed 1 AGAIN 26', 'end flushed 1 done 27', 'start open 1 AGAIN 26',
		'end open 1 done 27'
	],
	crashes => ['25'],
	decoded => [
		'begin 5', 'add one 0 SUBMITTED ONCE 1 -', 'add again 0 SUBMITTED AGAIN 0 -', 'commit 5',
		'begin 7', 'add open 0 SUBMITTED AGAIN 0 -', 'add unsure 0 SUBMITTED ONCE 0 -', 'commit 7',
		'begin 8', 'change one 1 PROCESSING', 'change again 1 PROCESSING', 'change unsure 1 PROCESSING', 'commit 8',
		'begin 9', 'leave one', 'end one 2 DONE', 'add two 0 SUBMITTED ONCE 0 one', 'change again 2 WAITING', 'commit 9',
		# A slot shows again what it has shown before.
		'begin 8', 'change one 1 PROCESSING', 'commit 8',
		'begin 10', 'change again 3 SUBMITTED', 'change two 1 PROCESSING', 'commit 10',
		'begin 11', 'change again 4 PROCESSING', 'commit 11', 'begin 12', 'leave two', 'end two 2 DONE', 'commit 12',
		'begin 13', 'change again 5 SUBMITTED', 'change unsure 2 ERROR', 'commit 13',
		'begin 14', 'change again 6 PROCESSING', 'commit 14',
		'begin 15', 'leave again', 'end again 7 DONE', 'commit 15',
		'begin 16', 'add sql 0 SUBMITTED SQL 0 -', 'add flushed 0 SUBMITTED AGAIN 0 -', 'commit 16',
		'begin 17', 'effect sql', 'leave sql', 'end sql 2 DONE', 'commit 17',
		'begin 18', 'change flushed 1 PROCESSING', 'change open 1 PROCESSING', 'commit 18',
		'begin 19', 'leave flushed', 'end flushed 2 DONE', 'leave open', 'end open 2 DONE', 'commit 19'
	],
	rows => [ 'one 2 DONE', 'two 2 DONE', 'again 7 DONE', 'sql 2 DONE', 'flushed 2 DONE', 'open 2 DONE', 'unsure 2 ERROR' ]);

sub judge
{
	my (%history) = @_;
	my $witnesses = TwTasks::Witnesses->new(ONCE => 'once', AGAIN => 'again', SQL => 'sql');

	$witnesses->take_ledger($_)  foreach @{ $history{ledger} };
	$witnesses->take_client($_)  foreach @{ $history{clients} };
	$witnesses->take_decoded($_) foreach @{ $history{decoded} };
	$witnesses->take_crash($_)   foreach @{ $history{crashes} };
	$witnesses->take_row($_)     foreach @{ $history{rows} };
	$witnesses->judge;
	return $witnesses;
}

# The right history with some lines replaced, in a witness each: line => what stands in
# its place, several lines in one text, none if it is empty.
sub changed
{
	my (%changes) = @_;
	my %history = %right;

	foreach my $witness (keys %changes)
	{
		my %of = %{ $changes{$witness} };

		$history{$witness} = [ map { exists $of{$_} ? split(/\n/, delete $of{$_}) : $_ } @{ $right{$witness} } ];
		die "no such lines: " . join(', ', keys %of) . "\n" if %of;
	}
	return %history;
}

# The judge has this fault.
sub sees
{
	my ($what, $kind, $id, $text, %changes) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return judge(changed(%changes))->sees_ok($kind, $id, $text, "it sees $what");
}

my $verdict = judge(%right);
my %counts = $verdict->counts;

is(join("\n", $verdict->report(99)), '', 'it has no fault to find with a right history');
is_deeply(
	\%counts,
	{ acknowledged => 4, refused => 1, recovered => 2, vanished => 1, starts => 9, followers => 1, effects => 1, unsure => 1,
		tasks => 7, lost => 0, double => 0, others => 0 },
	'and counts what happened');

# ---- adding ----

sees('an acknowledged task that was lost', 'lost', 'again', qr/is missing, and a-1 was committed/,
	decoded => { 'add again 0 SUBMITTED AGAIN 0 -' => '' });
sees('a task of a transaction that was rolled back', 'ghost', 'gone', qr/a-2 was not committed/,
	decoded => { 'begin 7' => "begin 6\nadd gone 0 SUBMITTED ONCE 0 -\ncommit 6\nbegin 7" });
sees('a task of a savepoint that was rolled back', 'ghost', 'back', qr/a-1 had rolled it back/,
	decoded => { 'begin 7' => "begin 6\nadd back 0 SUBMITTED ONCE 0 -\ncommit 6\nbegin 7" });
sees('a run of a task that was rolled back', 'ghost', 'gone', qr/was started, and never added/,
	ledger => { 'start unsure 1 ONCE 13' => "start unsure 1 ONCE 13\nstart gone 1 ONCE 14" });
sees('a task that nobody asked for', 'ghost', 'else', qr/nobody had asked for it/,
	decoded => { 'begin 7' => "begin 6\nadd else 0 SUBMITTED ONCE 0 -\ncommit 6\nbegin 7" });
sees('a change of a task that nobody added', 'ghost', 'else', qr/is PROCESSING, and was never added/,
	decoded => { 'begin 7' => "begin 6\nchange else 1 PROCESSING\ncommit 6\nbegin 7" });
sees('half of a transaction whose outcome is unknown', 'torn', 'unsure', qr/the rest of b-1 is there/,
	decoded => { 'add unsure 0 SUBMITTED ONCE 0 -' => '' });
sees('a transaction in two parts', 'torn', 'again', qr/apart from the rest of a-1/,
	decoded => { 'add again 0 SUBMITTED AGAIN 0 -' => "commit 5\nbegin 6\nadd again 0 SUBMITTED AGAIN 0 -" });
sees('a task that was added twice', 'double', 'one', qr/was added twice/,
	decoded => { 'add open 0 SUBMITTED AGAIN 0 -' => "add open 0 SUBMITTED AGAIN 0 -\nadd one 0 SUBMITTED ONCE 0 -" });

# ---- starting ----

sees('a second start of what may start once', 'double', 'one', qr/started 2 times/,
	ledger => { 'end one 1 done 11' => "end one 1 done 11\nstart one 3 ONCE 12" });
sees('a second start of a version', 'double', 'one', qr/started version 1 2 times/,
	ledger => { 'end one 1 done 11' => "end one 1 done 11\nstart one 1 ONCE 30" });
sees('a second start of a version without a crash', 'double', 'flushed', qr/started version 1 2 times/,
	crashes => { 25 => 29 });
sees('more starts of a version than crashes', 'double', 'flushed', qr/started version 1 3 times/,
	ledger => { 'end flushed 1 done 27' => "start flushed 1 AGAIN 27\nend flushed 1 done 27" });
sees('a start without a grab', 'ghost', 'again', qr/started version 5, which nobody had grabbed/,
	ledger => { 'start again 6 AGAIN 13' => "start again 5 AGAIN 12\nstart again 6 AGAIN 13" });
sees('an end without a start', 'unfounded', 'one', qr/which had not started/, ledger => { 'start one 1 ONCE 10' => '' });
sees('a task that started as another type', 'broken', 'one', qr/started as AGAIN/, ledger => { 'start one 1 ONCE 10' => 'start one 1 AGAIN 10' });

# ---- a handler that is killed while it writes ----

my $path = PostgreSQL::Test::Utils::tempdir() . '/ledger';
my $reader = TwTasks::Witnesses->new(ONCE => 'once');

PostgreSQL::Test::Utils::append_to_file($path, join "\n", '', 'start one 1 ONCE 10.25 .', 'end one 1 done 10.5 .', '', 'start two 1 ONCE 1', 'start two 1 ONCE 11.5 .', 'end two 1 do');
$reader->read_file(ledger => $path);
is_deeply($reader->{ledger}, { one => ' start 1 ONCE 10.25 end 1 done', two => ' start 1 ONCE 11.5' }, 'it reads no line that was cut, and the next one');

# ---- ending ----

sees('a success that no handler reported', 'unfounded', 'one', qr/said nothing/, ledger => { 'end one 1 done 11' => '' });
sees('a success where the handler reported a failure', 'unfounded', 'two', qr/said retry/, ledger => { 'end two 1 done 13' => 'end two 1 retry 13' });
sees('the late report of an earlier version', 'unfounded', 'again', qr/DONE from version 4, of which its handler said nothing/,
	decoded => { 'change again 5 SUBMITTED' => "leave again\nend again 5 DONE" });
sees('a life after the end', 'broken', 'one', qr/went from DONE to PROCESSING/,
	decoded => { 'change again 4 PROCESSING' => "change again 4 PROCESSING\nchange one 3 PROCESSING" });
sees('an end that comes twice', 'double', 'one', qr/ended twice/, decoded => { 'end one 2 DONE' => "end one 2 DONE\nend one 2 DONE" });
sees('a task that is live and ended', 'double', 'two', qr/stays in the table of live tasks/, decoded => { 'leave two' => '' });
sees('a task that goes away', 'lost', 'two', qr/did not end/, decoded => { 'end two 2 DONE' => '' });
sees('a version that is left out', 'broken', 'again', qr/from version 4 to 6/, decoded => { 'change again 5 SUBMITTED' => '' });
sees('a step that is no step', 'broken', 'again', qr/from WAITING to PROCESSING/, decoded => { 'change again 3 SUBMITTED' => 'change again 3 PROCESSING' });
sees('a follower that is missing', 'lost', 'one', qr/with 0 followers, not 1/, decoded => { 'add two 0 SUBMITTED ONCE 0 one' => '' });
sees('a follower too many', 'double', 'again', qr/with 1 followers, not 0/,
	decoded => { 'end again 7 DONE' => "end again 7 DONE\nadd more 0 SUBMITTED ONCE 0 again" });
sees('a follower of a task that goes on', 'ghost', 'again', qr/has a follower, and did not end/,
	decoded => { 'change again 3 SUBMITTED' => "change again 3 SUBMITTED\nadd more 0 SUBMITTED ONCE 0 again" });
sees('an effect that is lost', 'lost', 'sql', qr/ended with 0 effects, not 1/, decoded => { 'effect sql' => '' });
sees('an effect that is there twice', 'double', 'sql', qr/ended with 2 effects, not 1/, decoded => { 'effect sql' => "effect sql\neffect sql" });
sees('an effect of an attempt that came to nothing', 'double', 'sql', qr/had an effect, and did not end with it/,
	decoded => { 'begin 17' => "begin 20\neffect sql\ncommit 20\nbegin 17" });

# ---- a promotion ----

# The end of the right history, as a promoted server has it.  Nobody saw how "two" and
# "flushed" were done.  Its log goes on before the place that the old one had reached.
my @switched = (
	'switch 0/B8', 'have one 2 DONE ONCE 1 - 0', 'have two 2 DONE ONCE 0 one 0', 'have again 7 DONE AGAIN 0 - 0',
	'have sql 2 DONE SQL 0 - 1', 'have unsure 2 ERROR ONCE 0 - 0', 'have flushed 2 DONE AGAIN 0 - 0', 'have open 0 SUBMITTED AGAIN 0 - 0',
	'switched', 'begin 18', 'change open 1 PROCESSING', 'commit 18', 'begin 19', 'leave open', 'end open 2 DONE', 'commit 19');
my %of_old = map { $_ => '' } 'change two 1 PROCESSING', 'leave two', 'end two 2 DONE', 'begin 18', 'change flushed 1 PROCESSING', 'change open 1 PROCESSING', 'commit 18', 'leave flushed',
  'end flushed 2 DONE', 'leave open', 'end open 2 DONE', 'commit 19';

# The history with a promotion, of which lines are replaced.
sub promoted
{
	my (%of) = @_;

	return (%of_old, 'begin 19' => join "\n", grep { length } map { $of{$_} // $_ } @switched);
}

is(join("\n", judge(changed(decoded => { promoted() }))->report(99)), '', 'it has no fault to find with a promotion');
is( join("\n",
		judge(changed(
			decoded => { promoted('have open 0 SUBMITTED AGAIN 0 - 0' => '', map { $_ => '' } @switched[ 9 .. 15 ]) },
			clients => { 'b-1 add unsure' => "b-3 add unsure\nb-3 unknown" },
			rows => { 'open 2 DONE' => '' }))->report(99)),
	'', 'nor with the loss of what nobody was told of');
sees('an acknowledged task that a promotion lost', 'lost', 'sql', qr/is missing, and a-3 was committed/,
	decoded => { promoted('have sql 2 DONE SQL 0 - 1' => '') });
sees('a start of what a promotion lost, and may start once', 'ghost', 'unsure', qr/was started, and never added/,
	decoded => { promoted('have unsure 2 ERROR ONCE 0 - 0' => '') });
sees('a row that is there twice', 'double', 'two', qr/two rows in the promoted server/,
	decoded => { promoted('have sql 2 DONE SQL 0 - 1' => "have sql 2 DONE SQL 0 - 1\nhave two 1 PROCESSING ONCE 0 one 0") });
sees('a follower without its end', 'double', 'one', qr/with 1 followers, not 0/,
	decoded => { promoted('have one 2 DONE ONCE 1 - 0' => 'have one 1 PROCESSING ONCE 1 - 0') });
sees('an end without its follower', 'lost', 'one', qr/with 0 followers, not 1/,
	decoded => { promoted('have two 2 DONE ONCE 0 one 0' => '') });
sees('an effect without its end', 'double', 'sql', qr/with 1 effects, not 0/,
	decoded => { promoted('have sql 2 DONE SQL 0 - 1' => 'have sql 0 SUBMITTED SQL 0 - 1') });
sees('an end that nobody saw and no handler reported', 'unfounded', 'flushed', qr/said nothing/,
	ledger => { 'end flushed 1 done 21' => '', 'end flushed 1 done 27' => '' },
	decoded => { promoted() });
sees('a second start after a promotion', 'double', 'two', qr/started 2 times/,
	ledger => { 'end two 1 done 13' => "end two 1 done 13\nstart two 3 ONCE 30" },
	decoded => { promoted() });
sees('a task that comes with a promotion', 'ghost', 'else', qr/nobody had asked for it/,
	decoded => { promoted('have sql 2 DONE SQL 0 - 1' => "have sql 2 DONE SQL 0 - 1\nhave else 0 SUBMITTED ONCE 0 - 0") });

# ---- the tables ----

sees('a row that is gone', 'lost', 'two', qr/has no row/, rows => { 'two 2 DONE' => '' });
sees('a row that differs', 'broken', 'two', qr/is 3 DONE in the table, and not 2 DONE/, rows => { 'two 2 DONE' => 'two 3 DONE' });
sees('a row that was never added', 'ghost', 'else', qr/has a row/, rows => { 'two 2 DONE' => "two 2 DONE\nelse 0 SUBMITTED" });
sees('a task with two rows', 'double', 'two', qr/two rows/, rows => { 'two 2 DONE' => "two 2 DONE\ntwo 2 DONE" });
sees('a task that nobody ends', 'lost', 'open', qr/is 1 PROCESSING in the end/,
	decoded => { 'leave open' => '', 'end open 2 DONE' => '' },
	rows => { 'open 2 DONE' => 'open 1 PROCESSING' });
sees('an unknown outcome of a task that may run again', 'lost', 'again', qr/is 5 ERROR in the end/,
	decoded => { 'change again 5 SUBMITTED' => 'change again 5 ERROR', 'change again 6 PROCESSING' => '', 'leave again' => '', 'end again 7 DONE' => '' },
	rows => { 'again 7 DONE' => 'again 5 ERROR' });

done_testing();
