# 120_kinds_checker.pl -- the checker of the other tests sees each promise that is
# broken: by a rule that is wrong, by a third party that breaks its own promise, or
# by a change in the tables.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::KindCheck;
use TwTasks::KindRun;
use TwTasks::Seed;

TwTasks::Seed::sow();

my $run = TwTasks::KindRun->create(fence => 1, lifetime => 20, timeout => '1s');
my $node = $run->node;
my $sidecar = $run->start_sidecar('a');

# Starts identifiers of a kind while the third party is as it is said; the checker
# then has a fault that fits.
sub sees
{
	my ($what, $name, $fault, %party) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$run->party->set(fence => 1, blind => 0, forgetful => 0, faults => {}, %party);
	my $from = $run->numbers;
	$run->start_identifiers(40, 1, $name);
	$run->finish_starters;
	$run->await_outcomes;
	my @seen = grep { /^$name-(\d+): $fault/ && $1 > $from } $run->check->faults;
	cmp_ok(scalar @seen, '>', 0, "the checker sees $what") and note("$seen[0]; " . @seen . ' in all');
	return;
}

# The same while a rule is another one.
sub sees_rule
{
	my ($what, $name, $rule, $fault, %party) = @_;
	my ($kind, $step, $answer, $does, $next) = @$rule;
	my $where = "kind = '$kind' AND step = '$step' AND answer = '$answer'";
	my $old = $node->value("SELECT format('does = %L, next = %L', does, next) FROM twtasks_internal.kind_rule WHERE $where");

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->value("UPDATE twtasks_internal.kind_rule SET does = '$does', next = $next WHERE $where");
	sees($what, $name, $fault, %party);
	$node->value("UPDATE twtasks_internal.kind_rule SET $old WHERE $where");
	return;
}

my %loses = (faults => { drop_reply => 0.2 });

# ---- rules ----

sees_rule('a missing search', 'pess', [ 'pessimistic', 'attempt', 'unknown', 'again', '\'attempt\'' ],
	qr/attempt \d+ acts without a search/, %loses);
sees_rule('an action that is done again', 'pess', [ 'pessimistic', 'attempt', 'unknown', 'again', '\'attempt\'' ],
	qr/[2-9] actions were completed/, %loses);
sees_rule('an attempt after an unknown end', 'box', [ 'black_boxed', 'attempt', 'unknown', 'again', '\'attempt\'' ],
	qr/it acts again after attempt/, %loses);
sees_rule('an unknown end that is called another', 'box', [ 'black_boxed', 'attempt', 'unknown', 'expire', 'NULL' ],
	qr/the end of attempt \d+ is unknown/, %loses);
sees_rule('a second step without a look', 'opt', [ 'optimistic', 'second', 'unknown', 'again', '\'second\'' ],
	qr/attempt \d+ completes without a look/, faults => { 'second.drop_request' => 0.3 });
sees_rule('a missing undo', 'opt', [ 'optimistic', 'look', 'own', 'expire', 'NULL' ], qr/first step \d+ is left over/);
sees_rule('an outcome that denies what was done', 'opt', [ 'optimistic', 'second', 'unknown', 'expire', 'NULL' ],
	qr/it was done, and the outcome is expired/, faults => { 'second.drop_reply' => 0.3 });

# ---- third parties that promise more than they keep ----

sees('a key that is not honoured', 'idem', qr/[2-9] actions were completed/, %loses, forgetful => 1);
sees('a search that does not see an action yet', 'pess', qr/[2-9] actions were completed/, %loses, blind => 60);
sees('a late request that no fence stops', 'pess', qr/[2-9] actions were completed/,
	fence => 0,
	slow => [ 2, 2.5 ],
	faults => { late => 0.2 });

# ---- changes in the tables ----

$node->value(<<'SQL');
	UPDATE twtasks.outcome SET decision = 'lost' WHERE kind = 'pess';
	DELETE FROM twtasks.outcome WHERE kind = 'idem' AND identifier = (SELECT min(identifier) FROM twtasks.outcome WHERE kind = 'idem');
SQL
cmp_ok(scalar(grep { /^pess-.*the outcome is lost, which the third party does not know/ } $run->check->faults),
	'>', 0, 'the checker sees a wrong outcome');
like(join("\n", $run->check->faults), qr/^idem-.*it is no identifier$/m, 'the checker sees an action without an outcome');
like(join("\n", $run->start_faults), qr/^idem \d+: it was started in \d transactions, and has no row/, 'the checker sees a start that is lost');
isnt(join("\n", $run->reaction_faults), '', 'the checker sees a reaction without its outcome');

# ---- anomalies ----

# Strange ones of these steps, by their answers; none has a result.
sub strange
{
	my (@steps) = @_;
	my @anomalies = map { { identifier => 'opt-1', number => 1, result => undef, outcome => {}, task => $_->[0], step => $_->[1] } } @steps;
	my $check = TwTasks::KindCheck->new(anomalies => \@anomalies, attempts => [ map { { task => $_->[0], answer => $_->[2] } } @steps ]);

	return join ' ', $check->strange_anomalies;
}

# Faults of an identifier whose first step stands when it is decided.
sub left_over
{
	my (@anomalies) = @_;

	return join ' ',
	  TwTasks::KindCheck->new(
		kinds => { opt => 'optimistic' },
		lines => [ { identifier => 'opt-1', what => 'first', serial => 7, owner => 'us', expires => 9 } ],
		outcomes => [ { identifier => 'opt-1', kind => 'opt', decision => 'expired', decided => 1 } ],
		anomalies => \@anomalies)->faults;
}

is(strange([ 'a', 'undo', 'fault' ], [ 'b', 'undo', 'unknown' ]), '', 'an undo that has failed too often is no strange anomaly');
is(strange([ 'a', 'undo', 'done' ], [ 'b', 'first', 'fault' ]), 'opt-1#1.undo: no result opt-1#1.first: no result',
	'the checker sees other anomalies without a result');
is(left_over(), 'opt-1: first step 7 is left over', 'the checker sees a first step that is left over');
is(left_over({ identifier => 'opt-1', step => 'undo', result => undef }), '', 'and lets one pass that could not be removed');

$run->stop;
done_testing();
