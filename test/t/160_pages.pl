# 160_pages.pl -- the page of twtasks-web in a browser: how it looks, what may be done
# by keyboard, what a viewer sees, and what it says when the database is away.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use TwTasks::Page;

my $page = TwTasks::Page->start('data.sql');
my $node = $page->{node};

$page->run_script('looks');
$page->run_script('keys');

# ---- the audit says who did it, and why ----

is( $node->value(q{SELECT string_agg(DISTINCT reason, ', ' ORDER BY reason) FROM twtasks.audit WHERE on_behalf_of = 'otto'}),
	'failed by keyboard, held by keyboard, it was not paid, it was paid, released, resumed by keyboard',
	'changes of tasks have the name and the reason of the person');
is($node->value(q{SELECT concurrency FROM twtasks.limits WHERE pattern = 'PAYOUT|*' LIMIT 1}), 7, 'the limit is the new one');
is($node->value(q{SELECT reason FROM twtasks.paused WHERE name = 'PAYOUT|ACME'}), 'paused by keyboard', 'the type is paused');

# ---- the database goes away, and comes back ----

my ($output, $errors) = ('', '');
my $run = $page->start_script('away', \$output, \$errors);

$run->pump until $output =~ /^ready$/m || !$run->pumpable;
$node->stop('immediate');
my $stopped = time;

$run->pump until $output =~ /^said$/m || !$run->pumpable;
note(sprintf 'the page says so %.1f s after the stop of the server', time - $stopped);
$run->pump until $output =~ /^away$/m || !$run->pumpable;
$node->start;

# ---- it hangs ----

my @frozen;
END { kill 'CONT', @frozen }

sub hang
{
	my $reads = q{application_name = 'twtasks-web read'};
	my $postmaster = (split /\n/, PostgreSQL::Test::Utils::slurp_file($node->data_dir . '/postmaster.pid'))[0];
	my $sessions = $node->value("SELECT count(*) FROM pg_stat_activity WHERE $reads");

	# No other session can begin.
	kill 'STOP', $postmaster;
	push @frozen, $postmaster;
	push @frozen, $node->freeze_backend("$reads AND pid <> ALL ('{@{[ join ',', @frozen ]}}')") foreach 1 .. $sessions;
	return;
}

$run->pump until $output =~ /^hang$/m || !$run->pumpable;
hang();
my $hangs = time;

foreach my $page ('a page with a stream', 'a page without a stream')
{
	$run->pump until $output =~ /^said $page$/m || !$run->pumpable;
	note(sprintf '%s says so by %.1f s', $page, time - $hangs);
}
$run->pump until $output =~ /^hung$/m || !$run->pumpable;
kill 'CONT', splice @frozen;
ok($run->finish, 'away: ran to its end') or diag($errors);
TwTasks::Page::results_ok('away', $output);

done_testing();
