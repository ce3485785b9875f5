# node.pl -- modules of Node with the package of the helper run their tasks as docs/helpers.md
# says.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Published;

my $page = TwTasks::Published->create('Node');

$page->set(DATABASE_URL => 'postgres://shop@' . $page->address . '/postgres');
$page->write('package.json', qq({ "name": "shop", "type": "module", "private": true }\n));
$page->run(qw(npm install --silent --no-audit --no-fund pg@8));
$page->install('Node', 'npm --silent --no-audit --no-fund --install-links');
$page->write($_->[0], $page->block('js', $_->[1])) foreach [ 'order.js', 0 ], [ 'worker.js', 1 ];
$page->write('main.js', <<'JS');
import pg from "pg";
import { placeOrder } from "./order.js";

const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
await client.connect();
await client.query("BEGIN");
await placeOrder(client, 7);
await client.query("COMMIT");
await client.end();
JS

$page->start_sidecar;
$page->run('node', 'main.js');
$page->done_ok('DELIVER', 2);
$page->order_ok('new');
$page->print_ok('delivers 7');

done_testing();
