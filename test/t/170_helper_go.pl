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
note((split /\n/, PostgreSQL::Test::Utils::slurp_file("$packages.log"))[0]);
my $helper = TwTasks::Helper->start(argv => [$program], types => ['DELIVER'], is_concurrent => 1);

$helper->claims_ok;
$helper->stdout_ok;

done_testing();
