# 092_cron_next.pl -- cron_next() says what others say: for random expressions
# the library croniter, and around every change of a clock, in zones of many
# kinds, somebody who looks at every minute.
#
# TWT_TEST_SEED: the same expressions again; TWT_TEST_CASES: so many.

use strict;
use warnings FATAL => 'all';

use IPC::Open2;
use JSON::PP;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Seed;

my $node = TwTasks::Cluster->create('main');
my $session = $node->session;
my $cases = $ENV{TWT_TEST_CASES} || 3000;
my $pid = open2(my $answers, my $questions,
	TwTasks::Ledger::handler('cron_oracle.py'));

TwTasks::Seed::sow();
$session->query('SET timezone = \'UTC\'');

sub below
{
	return int rand $_[0];
}

sub pick
{
	return $_[ below(scalar @_) ];
}

# ---- expressions by chance ----

my @fields = ([ 0, 59 ], [ 0, 23 ], [ 1, 31 ], [ 1, 12 ], [ 0, 6 ]);
my %names = (
	3 => [ undef, qw(jan feb mar apr may jun jul aug sep oct nov dec) ],
	4 => [qw(sun mon tue wed thu fri sat)]);

sub value
{
	my ($field, $value) = @_;
	my $name = $names{$field} && $names{$field}[$value];

	return $name && below(3) == 0 ? $name : $value;
}

# An element of a field, and its values.
sub element
{
	my ($field) = @_;
	my ($min, $max) = @{ $fields[$field] };
	my $first = $min + below($max - $min + 1);
	my $last = $first + below($max - $first + 1);
	my $step = 1 + below($max - $min);
	my $kind = below(10);

	return (value($field, $first), $first) if $kind < 6;
	return ("*/$step", grep { ($_ - $min) % $step == 0 } $min .. $max)
	  if $kind < 8;
	my $range = value($field, $first) . '-' . value($field, $last);

	return ($range, $first .. $last) if $kind < 9;
	return ("$range/$step", grep { ($_ - $first) % $step == 0 } $first .. $last);
}

my %is_early;

sub field
{
	my ($field) = @_;

	return '*' if below(10) < (3, 3, 5, 6, 6)[$field];
	my (%values, @texts);

	foreach (1 .. 1 + below(3))
	{
		my ($text, @values) = element($field);

		push @texts, $text;
		@values{@values} = ();
	}

	# To croniter, all values are a star; and from the 30th of February it goes
	# on to the 2nd of March, past the 1st.
	return field($field)
	  if keys %values == $fields[$field][1] - $fields[$field][0] + 1
	  || ($field == 2
		&& grep({ exists $values{$_} } 1, 2)
		&& grep({ exists $values{$_} } 30, 31));
	my $text = join ',', @texts;

	$is_early{$text} = 1 if grep { $_ <= 29 } keys %values;
	return $text;
}

# Without what croniter reads in another way if both day fields say something:
# it knows no star with a step, and if no month has the day, then there is no
# day of the week either.
sub expression
{
	while (1)
	{
		my @line = map { field($_) } 0 .. 4;
		my @special = grep { /^\*./ } @line[ 2, 4 ];

		return join ' ', @line
		  if $line[2] eq '*'
		  || $line[4] eq '*'
		  || (!@special && $is_early{ $line[2] });
	}
}

# ---- both sides ----

sub ask
{
	my (@question) = @_;

	print $questions encode_json(\@question) . "\n";
	$questions->flush;
	my $line = readline $answers;

	die "the other side has gone\n" unless defined $line;
	return JSON::PP->new->allow_nonref->decode($line);
}

sub ours
{
	my ($expr, $after, $zone, $n) = @_;
	my $said = $session->query(
		"SELECT coalesce(string_agg(extract(epoch FROM occurrence)::bigint::text, ' ' ORDER BY occurrence), '')
		FROM twtasks.cron_preview('$expr', to_timestamp($after), '$zone', $n)");

	return [ split / /, $said ];
}

# Compares the next times; says the first difference.
sub differs
{
	my ($how, @question) = @_;
	my ($theirs, $ours) = (ask($how, @question), ours(@question));

	return if "@$theirs" eq "@$ours";
	diag("\"$question[0]\" after $question[1] in $question[2]:\n"
		  . "  $how says @$theirs\n  we say @$ours");
	return 1;
}

SKIP:
{
	skip 'python3-croniter is not installed: expressions were not compared', 1
	  unless ask('croniter', '* * * * *', 0, 'UTC', 1);

	my $differences = 0;
	my $never = 0;

	foreach my $i (1 .. $cases)
	{
		# Where clocks have not been changed since 1990.
		my @question = (
			expression(), 631_152_000 + below(2_000_000_000),
			pick(qw(UTC Asia/Kolkata Asia/Kathmandu Africa/Lagos)), 5);

		@question[ 1, 2 ] = (-below(2_000_000_000), 'UTC') if $i % 10 == 0;
		$never++ unless @{ ours(@question) };
		$differences += differs('croniter', @question) // 0;
		last if $differences > 5;
	}
	is($differences, 0, "$cases expressions mean what they mean to croniter");
	note("$never of them name no time");
}

# ---- clocks that are put forward and back ----

my @zones = qw(Europe/Berlin Europe/London America/New_York America/St_Johns
  America/Sao_Paulo America/Havana Africa/Cairo Africa/Casablanca Asia/Beirut
  Asia/Tehran Asia/Gaza Australia/Lord_Howe Australia/Adelaide
  Pacific/Chatham Pacific/Apia Pacific/Easter Antarctica/Troll
  Asia/Pyongyang America/Caracas Europe/Dublin);

# Where the offset changes, to the hour.
sub changes
{
	my ($zone) = @_;

	return split /\n/, $session->query(
		"SELECT extract(epoch FROM t)::bigint FROM (
			SELECT t, t AT TIME ZONE '$zone' - t AT TIME ZONE 'UTC' AS o,
				lead(t AT TIME ZONE '$zone' - t AT TIME ZONE 'UTC') OVER (ORDER BY t) AS next
			FROM generate_series(timestamptz '2006-01-01', '2036-01-01', '1 hour') t) x
		WHERE o <> next");
}

sub list
{
	my ($count) = @_;
	my %values = map { below($count) => 1 } 1 .. 1 + below(3);

	return join ',', sort { $a <=> $b } keys %values;
}

my ($changes, $differences) = (0, 0);

foreach my $zone (@zones)
{
	my @changes = changes($zone);

	# some of each zone, the others in other runs
	foreach my $change (map { pick(@changes) } 1 .. 6)
	{
		# around the hour that the clock shows then, or any hour
		my $hour = $session->query(
			"SELECT extract(hour FROM to_timestamp($change) AT TIME ZONE '$zone')");
		my $hours = pick('*', list(24), $hour, ($hour + 1) % 24, ($hour + 2) % 24);
		my $expr = join(' ', list(60), $hours, '* * *');

		$changes++;
		$differences +=
		  differs('minutes', $expr, $change - below(100_000), $zone, 8) // 0;
	}
}
cmp_ok($changes, '>', 100, 'more than a hundred changes of clocks were tested');
is($differences, 0, 'times around each change are what the clock shows');

close $questions;
waitpid $pid, 0;
is($?, 0, 'the other program ends in order');

done_testing();
