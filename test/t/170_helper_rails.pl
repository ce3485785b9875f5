# 170_helper_rails.pl -- the helper for Rails keeps its promises: jobs of ActiveJob run in
# twtasks.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Helper;

TwTasks::Helper::packages('rails');
my ($code, $application) = TwTasks::Helper::paths('helpers/rails/lib', 'test/helpers/rails/app.rb');
my $helper = TwTasks::Helper->start(
	argv => [ '/usr/bin/ruby', "-I$code", $application ],
	types => ['rails|*'],
	has_all => 0);

$helper->stranger_ok('rails|Other', '{"job_class": "Shop::DeliverJob", "arguments": ["stranger"]}');
is($helper->deliveries('stranger'), '', '... and does not run');
$helper->claims_ok;
$helper->lasts_ok('fail and quit', 'fail in bytes');

done_testing();
