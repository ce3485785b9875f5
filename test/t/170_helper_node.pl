# 170_helper_node.pl -- the helper for Node keeps its promises with pg.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Helper;

my $packages = TwTasks::Helper::packages('node');
my ($code, $application) = TwTasks::Helper::paths('helpers/node', 'test/helpers/node/app.mjs');
my $helper = TwTasks::Helper->start(
	argv => [ '/usr/bin/node', $application ],
	env => { SHOP_PACKAGES => $packages },
	types => ['DELIVER|*'],
	is_concurrent => 1);

$helper->claims_ok;
$helper->stdout_ok;

done_testing();
