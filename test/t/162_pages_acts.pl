# 162_pages_acts.pl -- each action of the page of twtasks-web in a browser, by mouse and by
# keyboard only, with a real server behind it.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Page;

my $page = TwTasks::Page->start('acts.sql');

$page->run_script('stream');
$page->run_script('acts');

done_testing();
