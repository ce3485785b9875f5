# pictures.pl -- takes the pictures of the page, for scripts/pictures: TWT_PICTURES is the
# name of their folder in the test's data.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Page;

my $page = TwTasks::Page->start('pictures.sql');

mkdir($page->{environment}{TWT_PICTURES} = "$ENV{TESTDATADIR}/$ENV{TWT_PICTURES}") or die "no folder: $!";
$page->run_script('pictures');

done_testing();
