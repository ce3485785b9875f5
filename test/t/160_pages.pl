# 160_pages.pl -- the page of twtasks-web in a browser: how it looks, what may be done
# by keyboard, what a viewer sees, and what it says when the database is away.

use strict;
use warnings FATAL => 'all';

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
ok($run->finish, 'away: ran to its end') or diag($errors);
TwTasks::Page::results_ok('away', $output);

done_testing();
