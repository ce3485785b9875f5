# python.pl -- a worker in Python, in an environment with the package of the helper, runs its
# tasks as docs/helpers.md says.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Published;

my $page = TwTasks::Published->create('Python');

$page->set(DATABASE_URL => 'postgres://shop@' . $page->address . '/postgres');
$page->run('/usr/bin/python3', '-m', 'venv', 'venv');
$page->install('Python', 'venv/bin/pip -q');
$page->write('worker.py', $page->block('python', 0));
$page->write('order.py', <<'PY');
import os, psycopg
from worker import place_order

with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
    place_order(connection, 7)
PY
$page->write('test.py', "import twtasks\nfrom worker import place_order\n", <<'PY', $page->block('python', 2));
class connection:
    def execute(*_): pass
PY

$page->start_sidecar;
$page->run('venv/bin/python', 'order.py');
$page->done_ok('DELIVER', 2);
$page->order_ok('new');
$page->print_ok('delivers 7 in try 1');
like($page->run('venv/bin/python', 'test.py'), qr/delivers 7 in try 1/, 'the test of the page runs the handler');

done_testing();
