# 170_helper_go.pl -- the helper for Go keeps its promises with pgx.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Helper;

my $packages = TwTasks::Helper::packages('go');
my $program = "$ENV{TWT_HELPERS}/shop";
my ($code) = TwTasks::Helper::paths('helpers/go');

-x $program or die "the application could not be built:\n" . PostgreSQL::Test::Utils::slurp_file("$packages.log");
my $helper = TwTasks::Helper->start(argv => [$program], types => ['DELIVER']);

$helper->claims_ok("$code/twtasks.go", "$code/work.go");

done_testing();
