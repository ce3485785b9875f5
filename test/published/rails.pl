# rails.pl -- an application that Rails generates runs its jobs as docs/helpers.md says.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Published;

my $page = TwTasks::Published->create('Rails');
my ($config, $order) = split /\n\n/, $page->block('ruby');
my $gem = $page->words(qr/the Gemfile names the gem: (gem .*)/);
my @parts = map { "--skip-$_" }
  qw(bundle git action-mailer action-mailbox action-text active-storage action-cable sprockets javascript spring listen bootsnap test turbolinks);

$page->set(RAILS_ENV => 'production', DATABASE_URL => 'postgres://shop@' . $page->address . '/postgres');
$page->run('rails', 'new', '.', '--name', 'shop', '--database', 'postgresql', @parts);

# Debian's packages have these parts of Rails.
$page->write('Gemfile', qq(source "https://rubygems.org"\n), map({ qq(gem "$_"\n) } qw(railties activejob activerecord actionpack pg)), "$gem\n");
$page->copy_helper('rails', 'vendor/twtasks');
$page->run('bundle', 'install', '--local', '--quiet');
$page->write('config/application.rb', $page->read('config/application.rb') =~ s/(?=\n  end\nend\n\z)/\n$config\n/r);
$page->run('bin/rails', 'generate', 'job', 'deliver');
$page->write('app/jobs/deliver_job.rb',
	$page->read('app/jobs/deliver_job.rb') =~ s/\(\*args\)\n.*\n/(id)\nOrder.find(id).update!(state: "delivered")\n/r);
$page->write('app/models/order.rb', "class Order < ApplicationRecord\nend\n");
$page->write('config/initializers/banner.rb', qq(puts "the shop opens"\n));
$page->write('place_order.rb', "order = Order.new(id: 7)\n$order\n");

$page->start_sidecar;
$page->run('bin/rails', 'runner', 'place_order.rb');
$page->done_ok('rails|DeliverJob', 2);
$page->order_ok('delivered');
$page->print_ok('the shop opens');

done_testing();
