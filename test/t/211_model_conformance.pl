# 211_model_conformance.pl -- the simulation's model of the database answers the calls of
# sidecars as the extension does, and leaves the same rows, in random histories.
# TWT_TEST_HISTORIES says how many, and wants others too; TWT_CONFORMANCE is a folder with
# another build.

use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::FrozenClock;
use TwTasks::Seed;

my $folder = $ENV{TWT_CONFORMANCE} || "$FindBin::RealBin/../simulation/conformance";
my $count  = $ENV{TWT_TEST_HISTORIES} || 30;

# The world of the simulation begins then.
my $clock = TwTasks::FrozenClock->new("$folder/frozen_clock.so", 1_700_000_000);
my $node = TwTasks::Cluster->create('main', queue => 'notify', clock => $clock, conf => { autovacuum => 'off' });

$node->safe_psql('postgres', "SELECT twtasks.configure_bucket('other')");

# agree(FROM, COUNT, NAME) -- both sides are the same in these histories
sub agree
{
	my ($from, $histories, $name) = @_;
	my $output = '';

	IPC::Run::run([ "$folder/conform", $node->connstr('postgres'), $clock->path, $from, $histories ], '<', \undef, '&>', \$output);
	ok($? == 0, $name) or diag($output);
	note($output);
	return;
}

TwTasks::Seed::sow();
agree(1, 2 * $count, 'the model and the extension are the same in fixed histories');

# A history that nobody has seen belongs to those who look for one.
agree(1_000_000 + int rand 1_000_000_000, $count, 'and in random ones') if $ENV{TWT_TEST_HISTORIES};

done_testing();
