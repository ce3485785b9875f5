# 200_editions_readers.pl -- what exists twice as a reader of text, in C and in SQL, reads the
# same: cron expressions with their times, tasks as JSON, retry policies, patterns, errors
# and outcomes.  Each question goes to a database with the library and to one with the SQL
# edition; the answers are equal, errors with their details and hints too.
#
# The questions are the same in each run.  TWT_TEST_CASES asks so many others of each kind,
# from a seed that is printed.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Questions;
use TwTasks::Seed;

my $node = TwTasks::Cluster->create('main', queue => 'notify');
my $directory = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql('postgres', 'CREATE DATABASE edition');
$node->install_edition('edition', 'sql');
TwTasks::Seed::sow();
srand 1 if !$ENV{TWT_TEST_CASES};

# The answer of a statement as text, or its error; what it has changed is taken back.
my $prelude = <<'SQL';
\set QUIET on
\pset tuples_only on
\pset format unaligned
SET client_min_messages = error;
SET timezone = 'UTC';
CREATE FUNCTION pg_temp.answer(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
	what text;
	more text;
	hint text;
BEGIN
	EXECUTE question INTO answer;
	RAISE EXCEPTION USING ERRCODE = 'TW000', MESSAGE = coalesce(answer, 'null');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS what = MESSAGE_TEXT, more = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN replace(concat_ws(' / ', SQLSTATE, what, more, hint), E'\n', '\n');
END $$;
SQL

# The answers of a database, one for each question.  Both editions cut a long value that they
# show, but in two ways.
sub answers
{
	my ($database, @questions) = @_;
	my $script = "$directory/$database.sql";
	my $output = "$directory/$database.out";

	append_to_file($script, $prelude . join '', map { 'SELECT pg_temp.answer(' . TwTasks::Questions::quoted($_) . ");\n" } @questions);
	$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-o', $output, '-f', $script, '-d', $node->connstr($database) ], "$database answers");
	return map { s/x{60,}(\.\.\.)?/a long value/gr } split /\n/, slurp_file($output);
}

my @asked = TwTasks::Questions::all($ENV{TWT_TEST_CASES});
my @questions = map { $_->[1] } @asked;
my @of_c = answers('postgres', @questions);
my @of_sql = answers('edition', @questions);
my (%differences, %read, %refused);

is(scalar @of_c, scalar @questions, 'the library has answered each question');
is(scalar @of_sql, scalar @questions, 'so has the edition');
foreach my $i (0 .. $#questions)
{
	my $kind = $asked[$i][0];

	($of_c[$i] =~ /^TW000/ ? $read{$kind} : $refused{$kind})++;
	push @{ $differences{$kind} }, "$questions[$i]\nlibrary: $of_c[$i]\nedition: $of_sql[$i]" if $of_c[$i] ne $of_sql[$i];
}
foreach my $kind (TwTasks::Questions::kinds())
{
	my @differences = @{ $differences{$kind} // [] };

	is(join("\n", grep { defined } @differences[ 0 .. 4 ]), '', "$kind: both read the same") or diag(@differences . ' differences');
	note("$kind: ${\ ($read{$kind} // 0)} read, ${\ ($refused{$kind} // 0)} refused");
	cmp_ok($read{$kind} // 0, '>', 0, "$kind: some are read");
}

done_testing();
