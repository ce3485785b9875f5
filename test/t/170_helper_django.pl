# 170_helper_django.pl -- the helper for Django keeps its promises: tasks of Django run in
# twtasks, and the backend tells their state.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Helper;
use TwTasks::Wait;

my $packages = TwTasks::Helper::packages('django');
my ($code, $python, $application) = TwTasks::Helper::paths('helpers/django', 'helpers/python', 'test/helpers/django');
my $helper = TwTasks::Helper->start(
	argv => [ '/usr/bin/python3', "$application/app.py" ],
	env => { PYTHONPATH => "$code:$python:$packages" },
	types => ['django|*'],
	has_all => 0);

my ($minor, $framework) = $helper->call(undef, 'framework') =~ /^Python 3\.(\d+): (\w+\.?\w*)/a;
is($framework, $minor >= 12 ? 'django.tasks' : 'django_tasks.base', "tasks come from Django 6, if Python 3.$minor can have it");

$helper->stranger_ok('django|os.getcwd', '[[], {}]');
$helper->claims_ok;

my ($ride) = $helper->added_by_call(undef, 'ride', 'ride');
my ($failed) = $helper->added_by_call(undef, 'add', 'fail for ever');

$helper->wait_until_done_ok(1, 'an asynchronous task is done', $ride);
is($helper->deliveries('ride'), '1 shop', '... once');
$helper->wait_until_done_ok(2, 'a task that had failed is done', $failed);
is( $helper->call(undef, 'result', $failed),
	"SUCCESSFUL 2 NotImplementedError\n",
	'get_result() tells state and attempts, and says that there are no return values');
is($helper->call(undef, 'result', $_), "TaskResultDoesNotExist\n", "get_result() knows no task \"$_\"")
  foreach 'no id', '01a1f85d-bc20-7ca3-a25e-5df99ce4a320';

done_testing();
