# 170_helper_python.pl -- the helper for Python keeps its promises with psycopg and with
# SQLAlchemy.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Helper;

my $packages = TwTasks::Helper::packages('python');
my ($code, $application) = TwTasks::Helper::paths('helpers/python', 'test/helpers/python/app.py');
my $helper = TwTasks::Helper->start(
	argv => [ '/usr/bin/python3', $application ],
	ways => [ 'psycopg', 'connection', 'session' ],
	env => { PYTHONPATH => "$code:$packages" },
	types => ['DELIVER']);

$helper->claims_ok;
$helper->lasts_ok('fail and quit');

done_testing();
