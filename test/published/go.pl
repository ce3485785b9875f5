# go.pl -- a program in Go with the helper's module runs its tasks as docs/helpers.md says.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Published;

my $page = TwTasks::Published->create('Go');

$page->set(DATABASE_URL => 'postgres://shop@' . $page->address . '/postgres');
$ENV{$_->[0]} = $_->[1] foreach [ GOTOOLCHAIN => 'local' ], [ GOFLAGS => '-modcacherw' ], map { [ $_ => "$ENV{TWT_CACHE}/$_" ] } 'GOMODCACHE', 'GOCACHE';
$page->write('main.go', $page->block('go'));
$page->run('go', 'mod', 'init', 'shop');
$page->copy_helper('go', 'twtasks');
$page->install('Go', 'go');
$page->run('go', 'mod', 'tidy');
$page->run('go', 'build', '-o', 'shop', '.');

$page->start_sidecar;
$page->run('./shop');
$page->done_ok('DELIVER', 2);
$page->order_ok('new');
$page->print_ok('delivers .*7');

done_testing();
