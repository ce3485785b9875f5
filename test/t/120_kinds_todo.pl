# 120_kinds_todo.pl -- each to-do item gets one decision, while people answer it at
# the same time, take their answers back, and answer as it expires, and while the
# server crashes.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use Test::More;
use TwTasks::Cluster;
use TwTasks::KindStarter;
use TwTasks::Seed;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant ITEMS => 250;

TwTasks::Seed::sow();

my $node = TwTasks::Cluster->create('main', conf => { max_prepared_transactions => 20 });

$node->add_extensions('kinds');
$node->safe_psql('postgres', <<'SQL');
	CREATE ROLE clerk LOGIN;
	CREATE ROLE stranger LOGIN;
	GRANT USAGE ON SCHEMA twtasks TO clerk, stranger;
	CREATE SCHEMA app;
	CREATE FUNCTION app.shows(event jsonb) RETURNS jsonb
	LANGUAGE sql SET search_path = pg_catalog, pg_temp
	AS $$ SELECT jsonb_build_object('amount', (event->>'n')::integer * 10) $$;
	CREATE FUNCTION app.fits(data jsonb) RETURNS boolean
	LANGUAGE sql SET search_path = pg_catalog, pg_temp
	AS $$ SELECT data ? 'who' $$;
	CREATE FUNCTION app.decides(read_model jsonb, data jsonb) RETURNS jsonb
	LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
	AS $$ SELECT jsonb_build_object('decision', CASE WHEN (read_model->>'amount')::integer > 1000 THEN 'no' ELSE 'yes' END) || read_model || data $$;
	SELECT twtasks.configure_kind('approval', 'to_do', 'APPROVAL', 'approval-{/n}', read_model => 'app.shows',
			contract => 'app.fits', decide => 'app.decides', readers => '{clerk}', answerers => '{clerk}'),
		twtasks.configure_kind('offer', 'to_do', 'OFFER', 'offer-{/n}', expires => '4s', read_model => 'app.shows',
			contract => 'app.fits', decide => 'app.decides', readers => '{clerk}', answerers => '{clerk}');
SQL

my @handlers = ({ types => [qw(APPROVAL OFFER)], noop => JSON::PP::true });
my $sidecar = TwTasks::Sidecar->start($node, 'a', handlers => \@handlers);
my @offers = map { [ 'offer', $_ ] } 1 .. ITEMS;
my @forgotten = map { [ 'offer', ITEMS + $_ ] } 1 .. 5;
my @approvals = map { [ 'approval', $_ ] } 1 .. ITEMS;

sub start_items
{
	my ($name, @items) = @_;
	my @starters = map { TwTasks::KindStarter->start($node, "$name$_", identifiers => \@items) } 1 .. 2;

	$_->finish foreach @starters;
	return;
}

# The text is used once, so it tells whose answer has counted.
sub answer
{
	my ($kind, $number, $text) = @_;

	return "(SELECT result || ':' || coalesce(outcome->>'who', '-')
		FROM twtasks.answer_to_do('$kind', '$kind-$number', '{\"who\": \"$text\"}'))";
}

start_items('s', @approvals, @offers, @forgotten);
is($node->value("SELECT count(*) FROM twtasks.attempts WHERE ended IS NULL AND kind = 'approval'"), ITEMS, 'each item is open');
is($node->session('clerk')->query('SELECT count(*) FROM twtasks.read_to_do(\'approval\')'), ITEMS, 'a reader sees them all');
like($node->session('stranger')->try(q{SELECT twtasks.answer_to_do('approval', 'approval-1', '{"who": "me"}')}),
	qr/42501/, 'a stranger may not answer');
like($node->session('clerk')->try(q{SELECT twtasks.answer_to_do('approval', 'approval-1', '{}')}),
	qr/22023/, 'an answer that breaks the contract is refused');

my @people = map { TwTasks::KindStarter->start($node, "p$_", identifiers => [ @approvals, @offers ], user => 'clerk', call => \&answer) } 1 .. 4;

sub decided
{
	my ($kind) = @_;

	return $node->value_or_undef("SELECT count(*) FROM twtasks.outcomes WHERE kind = '$kind' AND decided IS NOT NULL") // 0;
}

wait_for(sub { decided('approval') > 20 }, 'some decisions');
# The crash leaves a transaction that is prepared.
$node->session('clerk')->query('BEGIN; SELECT ' . join(', ', map { answer('approval', $_, 'left') } 1 .. 12) . q(; PREPARE TRANSACTION 'p1-0'));
$node->forget_session;
$node->stop('immediate');
$node->start;
$sidecar->kill9;
wait_for(sub { decided('approval') > 60 }, 'more decisions');
$sidecar->run;
$_->finish foreach @people;

wait_ok(sub { decided('approval') + decided('offer') == 2 * ITEMS + @forgotten }, 'each item is decided');

# ---- the checks ----

my %calls;
push @{ $calls{"$_->{kind}-$_->{number}"} }, $_ foreach map { $_->calls } @people;
my (@faults, %count);

sub check_item
{
	my ($row) = @_;
	my $name = $row->{identifier};
	my $who = $row->{outcome}{who} // '-';
	my @calls = @{ $calls{$name} // [] };
	my @deciding = grep { $_->{fate} eq 'kept' && $_->{result} =~ /^decided:/ } @calls;
	my @results = map { $_->{result} } grep { $_->{fate} eq 'kept' && $_->{result} ne 'unknown' } @calls;

	push @faults, "$name: " . @deciding . ' answers have decided' if @deciding > 1;
	push @faults, "$name: the outcome is of $who, and callers heard @results" if grep { !/:\Q$who\E$/ } @results;
	push @faults, "$name: an answer that was taken back has decided"
	  if grep { $_->{fate} eq 'gone' && $_->{result} eq "decided:$who" } @calls;
	push @faults, "$name: it has expired too early" if $row->{outcome}{decision} eq 'expired' && $row->{decided} < $row->{expires};
	push @faults, "$name: the outcome is not made of what was read"
	  if $row->{outcome}{decision} ne 'expired' && ($row->{outcome}{amount} // 0) != 10 * $row->{event}{n};
	$count{"$row->{kind} $row->{outcome}{decision}"}++;
	return;
}

check_item(JSON::PP->new->decode($_)) foreach split /\n/, $node->value(
	'SELECT jsonb_build_object(\'kind\', kind, \'identifier\', identifier, \'event\', event, \'outcome\', outcome,
		\'decided\', extract(epoch FROM decided), \'expires\', extract(epoch FROM expires)) FROM twtasks.outcome');
is(join("\n", splice @faults, 0, 10), '', 'each item has one decision, of which all callers heard');
is($node->value('SELECT string_agg(b::text, \'; \') FROM twtasks.broken_outcomes b'), '', 'no invariant is broken');
is($node->value('SELECT count(*) FROM twtasks.task'), '0', 'no item is left in the queue');
is($node->value('SELECT count(*) FROM twtasks.outcome WHERE kind = \'approval\' AND decided_by IS DISTINCT FROM \'clerk\''),
	'0', 'each outcome names who decided');
is($count{'approval expired'}, undef, 'no item expires that cannot');
cmp_ok($count{'offer expired'}, '>=', @forgotten, 'items that nobody answers expire');
note(join ', ', map { "$_: $count{$_}" } sort keys %count);

$sidecar->stop;
done_testing();
