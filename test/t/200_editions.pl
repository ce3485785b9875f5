# 200_editions.pl -- the library and the SQL edition give the same answers and leave the
# same rows, step by step, in random histories of tasks.  TWT_TEST_HISTORIES says how
# many.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::History;
use TwTasks::Seed;

my $count = $ENV{TWT_TEST_HISTORIES} || 40;
my $node  = TwTasks::Cluster->create('main', queue => 'notify');

$node->safe_psql('postgres', 'CREATE DATABASE edition');
$node->install_edition('edition', 'sql');
TwTasks::Seed::sow();

my $script = "$PostgreSQL::Test::Utils::tmp_check/histories.sql";
my @histories = map { TwTasks::History->script($_, 15) } 1 .. $count;
append_to_file($script, TwTasks::History->prelude . join '', @histories);

# The output of each history in a database, by number.
sub run_in
{
	my ($database) = @_;
	my $output = "$script.$database";

	$node->command_ok([ 'psql', '-Xq', '-o', $output, '-f', $script, '-d', $node->connstr($database) ], "$database ends all histories");
	# Messages may name ids, which are random.
	my $said = slurp_file($output) =~ s/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/ID/gr;
	my (undef, @parts) = split /^==== \d+\n/m, $said;
	is(scalar @parts, $count, "$database has the answers of all histories");
	return @parts;
}

my @of_c   = run_in('postgres');
my @of_sql = run_in('edition');

# The first lines that differ, with the step before.
sub difference
{
	my ($c, $sql) = @_;
	my @left  = split /\n/, $c;
	my @right = split /\n/, $sql;
	my $step  = '';

	for my $i (0 .. ($#left > $#right ? $#left : $#right))
	{
		$step = $left[$i] if ($left[$i] // '') =~ /^-- /;
		return "$step\nlibrary: " . ($left[$i] // 'nothing') . "\nedition: " . ($right[$i] // 'nothing')
		  if ($left[$i] // '') ne ($right[$i] // '');
	}
	return '';
}

# Equal answers would prove nothing if both refused all.
like("@of_c", qr/\b$_\b/, "the histories have \"$_\"") foreach qw(added PROCESSING DONE outcome);
like("@of_c", qr/^1\|$_\|/m, "a SQL handler has \"$_\"") foreach qw(finished failed);

for my $i (0 .. $count - 1)
{
	is(difference($of_c[$i], $of_sql[$i]), '', 'history ' . ($i + 1) . ' is the same in both');
}

done_testing();
