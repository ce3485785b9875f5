# 170_helper_spring.pl -- the helper for Spring keeps its promises with its transactions and
# JdbcTemplate.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Helper;

my $packages = TwTasks::Helper::packages('spring');
my ($code, $application) = TwTasks::Helper::paths('helpers/spring/src/main/java/twtasks', 'test/helpers/spring/App.java');
my $classes = PostgreSQL::Test::Utils::tempdir();

PostgreSQL::Test::Utils::system_or_bail('javac', '-nowarn', '-d', $classes, '-cp', "$packages/*", <$code/*.java>, $application);
my $helper = TwTasks::Helper->start(
	argv => [ '/usr/bin/java', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', "$classes:$packages/*", 'App' ],
	types => ['DELIVER'],
	unheard => ['child']);

$helper->claims_ok;

done_testing();
